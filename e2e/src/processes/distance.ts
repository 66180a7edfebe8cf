import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createCpuGroup, MOST_SHARES } from './cpu-group.js'

/** A proxy in front of a distant Redis. */
export interface Distance {
  readonly url: string
  /** When the delay was longer than requested, in wall-clock milliseconds: the proxy had no processor time. */
  late(): Promise<[fromMs: number, toMs: number][]>
  stop(): Promise<void>
}

const PROGRAM = fileURLToPath(new URL('./distance.mjs', import.meta.url))

/** Delays both directions, in a process of its own, because a network does not wait for a processor. */
export async function startDistance(toPort: number, eachWayMs: number): Promise<Distance> {
  const child = fork(PROGRAM, [String(toPort), String(eachWayMs)], { execArgv: [] })
  const exit = once(child, 'exit')
  const group = createCpuGroup(child.pid!, { 'cpu.shares': MOST_SHARES })
  const [port] = await once(child, 'message')
  return {
    url: `redis://127.0.0.1:${port}`,
    async late() {
      child.send('late')
      const [late] = await once(child, 'message')
      return late
    },
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await exit
      await group?.remove()
    },
  }
}
