import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll } from 'vitest'

/**
 * Starts a Redis and processes that run `program` on it for the tests of a file. A process sends one message when it is
 * ready, and then one for each task. Returns a function that sends a task to every process and returns their reports.
 */
export function useRedisChildren<Task extends object, Report>(program: URL, count: number) {
  let server: RedisServer | undefined
  let children: ChildProcess[] = []

  beforeAll(async () => {
    server = await startRedis()
    const env = { ...process.env, REDIS_URL: server.url }
    children = Array.from({ length: count }, () => fork(program, { env }))
    await Promise.all(children.map((child) => once(child, 'message')))
  })

  afterAll(async () => {
    await Promise.all(
      children.map(async (child) => {
        const exit = once(child, 'exit')
        child.kill('SIGKILL')
        await exit
      }),
    )
    await server?.stop()
  })

  return (task: Task): Promise<Report[]> =>
    Promise.all(
      children.map(async (child) => {
        const message = once(child, 'message')
        child.send(task)
        const [report] = (await message) as [Report]
        return report
      }),
    )
}
