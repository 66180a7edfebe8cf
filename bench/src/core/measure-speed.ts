import { makeKeys, makeOrder } from '../load/keys.js'
import { type Figures, median } from '../report/figures.js'
import type { Subject } from './core-contenders.js'
import type { SpeedScenario } from './core-scenarios.js'
import { hourWithRoom, setUp } from './core-set-up.js'

/** Nanoseconds per check: the best and the median batch. Noise only ever adds time. */
export async function measureSpeed(
  subject: Subject,
  { keys: count, checks, callers, batch, passes }: SpeedScenario,
): Promise<Figures> {
  const keys = makeKeys(count)
  const order = makeOrder(count, checks)
  await hourWithRoom()
  await setUp(subject, keys, order)

  const run = callers === 0 ? checkPlain : checkAwaited
  // The set-up has warmed up the check; this warms up the loop around it.
  await run(subject, keys, order.subarray(0, batch), callers)
  globalThis.gc?.()
  const batches: number[] = []
  for (let pass = 0; pass < passes; pass++) {
    for (let start = 0; start < checks; start += batch) {
      batches.push(await run(subject, keys, order.subarray(start, start + batch), callers))
    }
  }
  return { bestNs: Math.min(...batches), medianNs: median(batches) }
}

async function checkAwaited(
  subject: Subject,
  keys: readonly string[],
  order: Int32Array,
  callers: number,
): Promise<number> {
  let next = 0
  let allowed = 0
  async function call(): Promise<void> {
    while (next < order.length) {
      const result = await subject.check(keys[order[next++]!]!)
      if (subject.isAllowed(result)) allowed++
    }
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: callers }, call))
  return nsPerCheck(performance.now() - start, order.length, allowed)
}

/** Keeps the last results, as many as are in flight in the awaited loop, so that the engine must allocate each. */
function checkPlain(subject: Subject, keys: readonly string[], order: Int32Array): number {
  const kept = new Array<unknown>(256)
  let allowed = 0
  const start = performance.now()
  for (let i = 0; i < order.length; i++) {
    const result = subject.check(keys[order[i]!]!)
    kept[i % kept.length] = result
    if (subject.isAllowed(result)) allowed++
  }
  return nsPerCheck(performance.now() - start, order.length, allowed)
}

function nsPerCheck(ms: number, checks: number, allowed: number): number {
  if (allowed !== checks) throw new Error(`${checks} checks were timed, ${allowed} of them allowed.`)
  return (ms * 1e6) / checks
}
