import { readFileSync } from 'node:fs'
import type { Decision, OnStoreFailure } from '@tidegate/core'
import type { Check } from './history.js'
import type { HttpClient } from './http-client.js'
import { CHECK } from './http-client.js'
import { nowMs } from './wall-clock.js'

/** What a load keeps of an answer. */
export interface Answer {
  readonly allowed: boolean
  readonly degraded?: OnStoreFailure | undefined
  readonly atMs?: number | undefined
  /** Of HTTP. */
  readonly status?: number
}

export interface Made extends Check {
  readonly policy: string
  readonly status?: number | undefined
  /** How long it took, less the time in which a process had something to do and got no processor for it. */
  readonly tookMs: number
}

export interface Load {
  /** All that has been answered so far. */
  readonly made: Made[]
  /** What was answered with an error. */
  readonly errors: unknown[]
  /** Stops, and waits for what is on its way. */
  stop(): Promise<void>
}

export interface LoadOptions {
  readonly perSecond: number
  /** Which policy and key the n-th check is of. */
  readonly target: (n: number) => { readonly policy: string; readonly key: string }
  readonly ask: (policy: string, key: string) => Promise<Answer>
  /** The process that is asked, if it is another. */
  readonly pid?: number | undefined
}

/**
 * Makes checks at a steady rate, whether or not those before have been answered: as clients do, who do not wait for each
 * other. A load that waited for its answers would be light exactly while something is wrong.
 */
export function startLoad({ perSecond, target, ask, pid }: LoadOptions): Load {
  const made: Made[] = []
  const errors: unknown[] = []
  const onTheirWay = new Set<Promise<void>>()
  const stalls = createStalls(pid)
  const beganMs = performance.now()
  let n = 0

  async function one(policy: string, key: string): Promise<void> {
    const [startMs, stalledMs] = [nowMs(), stalls.totalMs()]
    try {
      const { allowed, degraded, atMs, status } = await ask(policy, key)
      const endMs = nowMs()
      const rawMs = endMs - startMs
      // Looked at only where it matters: it takes a moment by itself.
      const tookMs = rawMs < SOON_MS ? rawMs : Math.max(0, rawMs - (stalls.totalNowMs() - stalledMs))
      made.push({ startMs, endMs, tookMs, policy, key, cost: 1, allowed, degraded, atMs, status })
    } catch (error) {
      errors.push(error)
    }
  }

  const timer = setInterval(() => {
    stalls.tick()
    const due = Math.floor(((performance.now() - beganMs) / 1000) * perSecond)
    // After a pause of this process, no more than a moment's worth: a flood is not what is asked for here.
    n = Math.max(n, due - Math.ceil((perSecond * CATCH_UP_MS) / 1000))
    for (; n < due; n++) {
      const { policy, key } = target(n)
      const asked = one(policy, key).finally(() => onTheirWay.delete(asked))
      onTheirWay.add(asked)
    }
  }, TICK_MS)

  return {
    made,
    errors,
    async stop() {
      clearInterval(timer)
      await Promise.all(onTheirWay)
    },
  }
}

const TICK_MS = 5
const CATCH_UP_MS = 20
/** A tick that is later than this was not merely rounded. */
const LATE_MS = 10
const SOON_MS = 50

/** The time in which this process did not run, or another waited for a processor. */
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

/** Asks a limiter of this process. */
export function fromDecision({ allowed, degraded, timeMs }: Decision): Answer {
  return { allowed, degraded, atMs: timeMs }
}

/** Asks a service. */
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
