import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { definePolicy } from '@tidegate/core'
import type { Check } from './history.js'

/** A process with a limiter of its own: see `limiter-process.mjs`. */
export interface LimiterProcess {
  load(perSecond: number): void
  /** Everything that it has checked. */
  stopLoad(): Promise<Check[]>
  stop(): Promise<void>
}

const PROGRAM = fileURLToPath(new URL('./limiter-process.mjs', import.meta.url))

export async function startLimiter(
  redisUrl: string,
  policy: Parameters<typeof definePolicy>[0],
): Promise<LimiterProcess> {
  const child = fork(PROGRAM, [redisUrl, JSON.stringify(policy)])
  const exit = once(child, 'exit')
  const answer = async () => {
    const [message] = await Promise.race([
      once(child, 'message'),
      exit.then(([code]) => Promise.reject(new Error(`a process ended with ${code}`))),
    ])
    return message
  }
  await answer()
  return {
    load: (perSecond) => void child.send({ task: 'load', perSecond }),
    async stopLoad() {
      const made = answer()
      child.send({ task: 'stop' })
      return (await made) as Check[]
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await exit
    },
  }
}
