import { fixedWindow } from '@tidegate/core'
import { redisKey } from '../keys.js'
import type { Entry } from './protocol.js'

const PROBE = fixedWindow({ limit: 1, window: '1s', name: 'tidegate' })

/** An entry that resets an unused key, to test the script, its permissions, and whether the server accepts writes. */
export function probe(prefix: string, key: string): Entry {
  return { kind: 'reset', limits: [{ policy: PROBE, redisKey: redisKey(prefix, PROBE.name, key), cost: 1 }] }
}

/** The number of slots in a test: many, so that a proxy in front of several servers does not pass it by chance. */
const MAX_SLOTS = 16
const MAX_TRIES = 2000

/** Probes in several slots of a node; undefined if it has too few slots to find two. */
export function nodeTest(
  prefix: string,
  node: string,
  slotOf: (redisKey: string) => number,
  nodeOf: (slot: number) => string | undefined,
): Entry[] | undefined {
  const bySlot = new Map<number, Entry>()
  for (let i = 0; i < MAX_TRIES && bySlot.size < MAX_SLOTS; i++) {
    const entry = probe(prefix, `node-${i}`)
    const slot = slotOf(entry.limits[0]!.redisKey)
    if (nodeOf(slot) === node) bySlot.set(slot, entry)
  }
  return bySlot.size < 2 ? undefined : [...bySlot.values()]
}
