import type { Subject } from './core-contenders.js'
import type { MemoryScenario } from './core-scenarios.js'
import type { Figures } from './figures.js'
import { collectGarbage } from './garbage.js'
import { makeKeys } from './keys.js'

/** What a store has per key beyond the key's text, and the text. */
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
  // To read `keys` here keeps them alive until here: gone early, they would count as memory given back.
  if (allowed !== keys.length || subject.size() !== keys.length) {
    throw new Error(`${count} keys were asked, ${allowed} were allowed, the store holds ${subject.size()}.`)
  }
  // A long key is copied, so that one cut out of a large text does not keep the large one alive. The text is
  // here twice because `keys` has it too; in a server nobody else does, and the copy is the key's own text.
  const copied = keyShape === 'long' ? textBytes : 0
  return { bytesPerKey: (after - before) / count - copied, textBytes }
}

async function bytesInUse(): Promise<number> {
  await collectGarbage()
  // `external` has the typed arrays' memory in it.
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** One element of `keys`. */
const POINTER_BYTES = 8
