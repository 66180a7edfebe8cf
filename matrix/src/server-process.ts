import { type ChildProcess, spawn } from 'node:child_process'
import { afterAll } from 'vitest'

const running = new Set<ChildProcess>()
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts a server and waits until its output matches. The first group of the pattern is its port. */
export async function startServer(
  args: readonly string[],
  cwd: string,
  env: Record<string, string>,
  ready: RegExp,
): Promise<string> {
  const child = spawn(process.execPath, args, { cwd, env: { ...process.env, ...env }, stdio: 'pipe' })
  running.add(child)
  let output = ''
  return await new Promise((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk
      const port = ready.exec(output)?.[1]
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('exit', (code) => {
      running.delete(child)
      reject(new Error(`${args.join(' ')} ended with ${code}:\n${output}`))
    })
  })
}

/** The statuses of eight requests, one after the other. */
export async function eightStatuses(url: string): Promise<number[]> {
  const statuses = []
  for (let i = 0; i < 8; i++) {
    const response = await fetch(url)
    await response.arrayBuffer()
    statuses.push(response.status)
  }
  return statuses
}

export const TWO_OF_EIGHT = [200, 200, 429, 429, 429, 429, 429, 429]
