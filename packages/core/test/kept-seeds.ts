import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'

/**
 * Checks a property on every seed that has ever failed, then on a new one. A seed that fails is written to
 * `seeds/<name>.json`: commit it with the fix, and it is tried first from then on.
 */
export function holds<T>(
  name: string,
  values: fc.Arbitrary<T>,
  property: (value: T) => void,
  { runs = 200 }: { runs?: number } = {},
): void {
  const file = fileURLToPath(new URL(`./seeds/${name}.json`, import.meta.url))
  const kept: Kept[] = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
  const asProperty = fc.property(values, property)
  for (const { seed, path } of kept) fc.assert(asProperty, { seed, path, numRuns: 1, endOnFailure: true })
  const result = fc.check(asProperty, { numRuns: runs })
  if (!result.failed) return
  kept.push({ seed: result.seed, path: result.counterexamplePath ?? '' })
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`)
  throw new Error(`${fc.defaultReportMessage(result)}\nThe seed is kept in ${file}`, {
    cause: result.errorInstance,
  })
}

interface Kept {
  seed: number
  path: string
}
