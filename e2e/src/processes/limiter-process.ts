import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { definePolicy } from '@tidegate/core'
import type { Check } from '../history/history.js'

/** A number of checks at a steady rate, the same number in a row for each key. */
interface LimiterRun {
  readonly perSecond: number
  readonly checks: number
  readonly perKey: number
  /** Distinguishes the keys of this run from those of other runs. */
  readonly prefix: string
}

/** A process with a limiter on Redis: see `limiter-process.mjs`. */
export interface LimiterProcess {
  readonly process: ChildProcess
  /** Makes checks until `stopLoad`. Can be called again, with another number. */
  load(perSecond: number): void
  /** Ends the load and returns all of its checks. */
  stopLoad(): Promise<Check[]>
  /** Makes all checks of a run and returns them. */
  run(run: LimiterRun): Promise<Check[]>
  /** The state changes of the store and of its breaker so far. */
  events(): Promise<string[]>
  stop(): Promise<void>
}

interface LimiterProcessOptions {
  /** The error of the process's wall clock, in milliseconds. Default: 0. */
  readonly skewMs?: number
  /** Additional arguments for Node.js. Default: none. */
  readonly nodeArgs?: readonly string[] | undefined
  /** Called as soon as the process exists. Default: nothing is called. */
  readonly onSpawn?: (child: ChildProcess) => Promise<void>
}

const PROGRAM = fileURLToPath(new URL('./limiter-process.mjs', import.meta.url))

export async function startLimiter(
  redisUrl: string,
  policy: Parameters<typeof definePolicy>[0],
  { skewMs = 0, nodeArgs = [], onSpawn }: LimiterProcessOptions = {},
): Promise<LimiterProcess> {
  const child = fork(PROGRAM, [redisUrl, JSON.stringify(policy), String(skewMs)], { execArgv: [...nodeArgs] })
  const exit = once(child, 'exit')
  const answer = async () => {
    const [message] = await Promise.race([
      once(child, 'message'),
      exit.then(([code]) => Promise.reject(new Error(`the limiter process exited with ${code}`))),
    ])
    return message
  }
  async function ask<Answer>(message: object): Promise<Answer> {
    const answered = answer()
    child.send(message)
    return (await answered) as Answer
  }
  const ready = answer()
  await onSpawn?.(child)
  await ready
  return {
    process: child,
    load: (perSecond) => void child.send({ task: 'load', perSecond }),
    stopLoad: () => ask({ task: 'stop' }),
    run: (run) => ask({ task: 'run', ...run }),
    events: () => ask({ task: 'events' }),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await exit
    },
  }
}
