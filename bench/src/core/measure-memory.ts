import { makeKeys } from '../load/keys.js'
import type { Figures } from '../report/figures.js'
import type { Subject } from './core-contenders.js'
import type { MemoryScenario } from './core-scenarios.js'
import { collectGarbage } from './garbage.js'

/** Bytes per key beyond the text of the key, and the bytes of the text. */
export async function measureMemory(
  subject: Subject,
  { keys: count, keyShape }: MemoryScenario,
): Promise<Figures> {
  const empty = await bytesInUse()
  const keys = makeKeys(count, keyShape)
  const before = await bytesInUse()
  const textBytes = (before - empty) / count - POINTER_BYTES

  let allowed = 0
  for (const key of keys) if (subject.isAllowed(subject.check(key))) allowed++
  const after = await bytesInUse()
  // Reading `keys` here keeps them alive: collected earlier, they would count as freed memory.
  if (allowed !== keys.length || subject.size() !== keys.length) {
    throw new Error(`${count} keys were checked, ${allowed} allowed, the store holds ${subject.size()}.`)
  }
  // The store copies a long key, so that a slice of a large string does not keep the large string alive. The text is
  // here twice because `keys` holds it too; in a server only the copy would exist.
  const copied = keyShape === 'long' ? textBytes : 0
  return { bytesPerKey: (after - before) / count - copied, textBytes }
}

async function bytesInUse(): Promise<number> {
  await collectGarbage()
  // `external` includes the memory of typed arrays.
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** One element of `keys`. */
const POINTER_BYTES = 8
