import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { definePolicy } from '@tidegate/core'

/** A process with several workers: see `slot-worker.mjs`. */
export interface SlotWorker {
  readonly process: ChildProcess
  /** Ends the work, and the process. */
  finish(): Promise<void>
  kill(): Promise<void>
}

export interface SlotWorkerOptions {
  readonly policy: Parameters<typeof definePolicy>[0]
  /** How many units the process works on at once. */
  readonly workers: number
  /** The error of its clock. Default: 0. */
  readonly skewMs?: number
  /** Whether a worker stops when its slot is lost. Default: true. */
  readonly heedsSignal?: boolean
}

const PROGRAM = fileURLToPath(new URL('./slot-worker.mjs', import.meta.url))

export async function startSlotWorker(
  redisUrl: string,
  { skewMs = 0, heedsSignal = true, ...options }: SlotWorkerOptions,
): Promise<SlotWorker> {
  const child = fork(PROGRAM, [redisUrl, JSON.stringify({ ...options, skewMs, heedsSignal })])
  const exit = once(child, 'exit')
  const answer = async () => {
    const [message] = await Promise.race([
      once(child, 'message'),
      exit.then(([code]) => Promise.reject(new Error(`the worker process exited with ${code}`))),
    ])
    return message
  }
  async function kill(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exit
  }
  await answer()
  return {
    process: child,
    kill,
    async finish() {
      const answered = answer()
      child.send('finish')
      await answered
      await kill()
    },
  }
}
