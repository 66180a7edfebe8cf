import { readFileSync } from 'node:fs'
import type { Decision, OnStoreFailure } from '@tidegate/core'
import type { Check } from './history/history.js'
import type { HttpClient } from './http-client.js'
import { CHECK } from './http-client.js'
import { nowMs } from './wall-clock.js'

/** The part of a decision that a load records. */
export interface Answer {
  readonly allowed: boolean
  readonly degraded?: OnStoreFailure | undefined
  readonly atMs?: number | undefined
  /** The HTTP status. */
  readonly status?: number
}

export interface Made extends Check {
  readonly policy: string
  readonly status?: number | undefined
  /** The latency, without the time in which a process was ready to run and got no processor time. */
  readonly tookMs: number
}

export interface Load {
  /** The checks that have been answered so far. */
  readonly made: Made[]
  /** The errors of failed checks. */
  readonly errors: unknown[]
  /** Stops, and waits for checks in flight. */
  stop(): Promise<void>
}

export interface LoadOptions {
  readonly perSecond: number
  /** The policy and key of the n-th check. */
  readonly target: (n: number) => { readonly policy: string; readonly key: string }
  readonly ask: (policy: string, key: string) => Promise<Answer>
  /** The process that decides, if it is another one. */
  readonly pid?: number | undefined
}

/**
 * Makes checks at a steady rate, whether or not earlier checks have been answered, like independent clients. A load
 * that waited for answers would be lighter during a fault.
 */
export function startLoad({ perSecond, target, ask, pid }: LoadOptions): Load {
  const made: Made[] = []
  const errors: unknown[] = []
  const inFlight = new Set<Promise<void>>()
  const stalls = createStalls(pid)
  const beganMs = performance.now()
  let n = 0

  async function one(policy: string, key: string): Promise<void> {
    const [startMs, stalledMs] = [nowMs(), stalls.totalMs()]
    try {
      const { allowed, degraded, atMs, status } = await ask(policy, key)
      const endMs = nowMs()
      const rawMs = endMs - startMs
      // Read only for slow checks, because reading takes time too.
      const tookMs = rawMs < SOON_MS ? rawMs : Math.max(0, rawMs - (stalls.totalNowMs() - stalledMs))
      made.push({ startMs, endMs, tookMs, policy, key, cost: 1, allowed, degraded, atMs, status })
    } catch (error) {
      errors.push(error)
    }
  }

  const timer = setInterval(() => {
    stalls.tick()
    const due = Math.floor(((performance.now() - beganMs) / 1000) * perSecond)
    // After a pause of this process, catch up with a few checks only: more would be a flood.
    n = Math.max(n, due - Math.ceil((perSecond * CATCH_UP_MS) / 1000))
    for (; n < due; n++) {
      const { policy, key } = target(n)
      const pending = one(policy, key).finally(() => inFlight.delete(pending))
      inFlight.add(pending)
    }
  }, TICK_MS)

  return {
    made,
    errors,
    async stop() {
      clearInterval(timer)
      await Promise.all(inFlight)
    },
  }
}

const TICK_MS = 5
const CATCH_UP_MS = 20
/** A tick that is later than this is more than the imprecision of timers. */
const LATE_MS = 10
const SOON_MS = 50

/** The time in which this process did not run, or the other process waited for a processor. */
function createStalls(pid: number | undefined) {
  let lastMs = performance.now()
  let lateMs = 0
  let waitedMs = waitOf(pid)
  const lateNowMs = () => {
    const sinceMs = performance.now() - lastMs - TICK_MS
    return sinceMs > LATE_MS ? sinceMs : 0
  }
  return {
    tick() {
      lateMs += lateNowMs()
      lastMs = performance.now()
      waitedMs = waitOf(pid)
    },
    /** As of the last tick. */
    totalMs: () => lateMs + waitedMs,
    totalNowMs: () => lateMs + lateNowMs() + waitOf(pid),
  }
}

/** How long a process has been ready to run without running, as Linux counts it. */
function waitOf(pid: number | undefined): number {
  if (pid === undefined) return 0
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}

/** The answer in a decision. */
export function fromDecision({ allowed, degraded, timeMs }: Decision): Answer {
  return { allowed, degraded, atMs: timeMs }
}

/** Makes a check at a service. */
export async function askService(
  http: HttpClient,
  url: string,
  policy: string,
  key: string,
): Promise<Answer> {
  const { status, headers } = await http.get(`${url}${CHECK}?policy=${policy}&key=${encodeURIComponent(key)}`)
  const degraded = headers['x-ratelimit-degraded'] as OnStoreFailure | undefined
  return { allowed: status === 200, degraded, status }
}
