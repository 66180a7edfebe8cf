import type { Subject } from './core-contenders.js'
import type { SpeedScenario } from './core-scenarios.js'
import { type Figures, median } from './figures.js'
import { makeKeys, makeOrder } from './keys.js'
import { hourWithRoom, setUp } from './set-up.js'

/** Nanoseconds per check, the best and the median of the batches. */
export async function measureSpeed(
  contender: Subject,
  { keys: count, checks, callers, batch, passes, keepsAnswers = false }: SpeedScenario,
): Promise<Figures> {
  const subject = keepsAnswers ? keeping(contender) : contender
  const keys = makeKeys(count)
  const order = makeOrder(count, checks)
  await hourWithRoom()
  await setUp(subject, keys, order)

  const run = callers === 0 ? plainly : awaited
  // The set-up has warmed up the check, this the loop around it.
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

async function awaited(
  subject: Subject,
  keys: readonly string[],
  order: Int32Array,
  callers: number,
): Promise<number> {
  let next = 0
  let allowed = 0
  async function call(): Promise<void> {
    while (next < order.length) {
      const answer = await subject.check(keys[order[next++]!]!)
      if (subject.isAllowed(answer)) allowed++
    }
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: callers }, call))
  return perCheck(performance.now() - start, order.length, allowed)
}

function plainly(subject: Subject, keys: readonly string[], order: Int32Array): number {
  let allowed = 0
  const start = performance.now()
  for (let i = 0; i < order.length; i++) {
    if (subject.isAllowed(subject.check(keys[order[i]!]!))) allowed++
  }
  return perCheck(performance.now() - start, order.length, allowed)
}

/** The same, but its last answers are kept, as many as are in flight when they are awaited. */
function keeping(subject: Subject): Subject {
  const kept = new Array<unknown>(256)
  let next = 0
  return {
    ...subject,
    check(key) {
      const answer = subject.check(key)
      kept[next++ % kept.length] = answer
      return answer
    },
  }
}

function perCheck(ms: number, asked: number, allowed: number): number {
  if (allowed !== asked) throw new Error(`${asked} checks were timed, but ${allowed} were allowed.`)
  return (ms * 1e6) / asked
}
