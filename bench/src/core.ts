import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { circumstances } from './circumstances.js'
import { report } from './core-report.js'
import { judge } from './core-targets.js'
import { measureAll } from './rounds.js'

/** The store in memory, against its peers and a bare Map. Answers whether every promise holds. */
export async function core({ quick }: { quick: boolean }): Promise<boolean> {
  const measurements = await measureAll(new URL('./core-child.js', import.meta.url), quick)
  const results = judge(measurements)
  report(measurements, results)

  const file = new URL('../results/core.json', import.meta.url)
  mkdirSync(new URL('.', file), { recursive: true })
  writeFileSync(
    file,
    `${JSON.stringify({ ...circumstances('core'), quick, results, measurements }, null, 2)}\n`,
  )
  console.log(`Written to ${fileURLToPath(file)}`)
  return results.every((result) => result.holds)
}
