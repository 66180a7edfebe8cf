import type { Subject } from './core-contenders.js'

/**
 * Checks every key once, then all keys of the order, and throws unless the store has counted exactly that: a benchmark
 * of "10,000 keys" that checks one key measures nothing.
 */
export async function setUp(subject: Subject, keys: readonly string[], order: Int32Array): Promise<void> {
  const fill = Int32Array.from(keys.keys())
  // In another order than the following checks, so that the store does not store its keys in the order of the checks.
  const allowed = (await countAllowed(subject, keys, fill)) + (await countAllowed(subject, keys, order))
  const checks = fill.length + order.length
  if (allowed !== checks) throw new Error(`Set-up: ${checks} checks, ${allowed} of them allowed.`)
  if (subject.size() !== keys.length) {
    throw new Error(`Set-up: ${keys.length} keys expected, the store holds ${subject.size()}.`)
  }
  const expected = checks / keys.length
  for (const key of keys) {
    const used = await subject.used(key)
    if (used !== expected) {
      throw new Error(`Set-up: "${key}" was checked ${expected} times, but ${used} units were counted.`)
    }
  }
}

async function countAllowed(subject: Subject, keys: readonly string[], order: Int32Array): Promise<number> {
  let allowed = 0
  for (const index of order) {
    const result = subject.check(keys[index]!)
    if (subject.isAllowed(result instanceof Promise ? await result : result)) allowed++
  }
  return allowed
}

/** Waits for the next hour if it is near, because fixed windows restart then, which would reset the counts of a set-up. */
export async function hourWithRoom(): Promise<void> {
  const leftMs = 3_600_000 - (Date.now() % 3_600_000)
  if (leftMs > ROOM_MS) return
  console.error(`    waiting ${Math.ceil(leftMs / 1000)} s for the full hour, when windows restart`)
  await new Promise((resolve) => setTimeout(resolve, leftMs))
}

const ROOM_MS = 30_000
