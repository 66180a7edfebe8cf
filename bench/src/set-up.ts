import type { Subject } from './core-contenders.js'

/**
 * Brings all keys into the store, goes through the order once, and refuses to go on unless what was
 * promised is what happened: a benchmark of "10,000 keys" that asked for one key measures nothing.
 */
export async function setUp(subject: Subject, keys: readonly string[], order: Int32Array): Promise<void> {
  const fill = Int32Array.from(keys.keys())
  // Not in the random order: a store would lay out its keys in just the order in which they are then asked.
  const allowed = (await countAllowed(subject, keys, fill)) + (await countAllowed(subject, keys, order))
  const asked = fill.length + order.length
  if (allowed !== asked) throw new Error(`Set-up: ${asked} checks were asked, ${allowed} were allowed.`)
  if (subject.size() !== keys.length) {
    throw new Error(`Set-up: ${keys.length} keys were promised, the store holds ${subject.size()}.`)
  }
  const expected = asked / keys.length
  for (const key of keys) {
    const used = await subject.used(key)
    if (used !== expected) {
      throw new Error(`Set-up: "${key}" was asked ${expected} times, ${used} were counted.`)
    }
  }
}

async function countAllowed(subject: Subject, keys: readonly string[], order: Int32Array): Promise<number> {
  let allowed = 0
  for (const index of order) {
    const answer = subject.check(keys[index]!)
    if (subject.isAllowed(answer instanceof Promise ? await answer : answer)) allowed++
  }
  return allowed
}

/** Fixed windows end at the full hour, and counts with them: a set-up must not be checked across it. */
export async function hourWithRoom(): Promise<void> {
  const leftMs = 3_600_000 - (Date.now() % 3_600_000)
  if (leftMs > ROOM_MS) return
  console.error(`    waiting ${Math.ceil(leftMs / 1000)} s for the full hour, at which windows turn`)
  await new Promise((resolve) => setTimeout(resolve, leftMs))
}

const ROOM_MS = 30_000
