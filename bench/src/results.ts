import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Benchmark } from './benchmark.js'
import { circumstances } from './circumstances.js'
import type { Measurement } from './figures.js'

/** One run of a benchmark, as it is kept. */
export interface Run extends ReturnType<typeof circumstances> {
  quick: boolean
  measurements: readonly Measurement[]
}

/** Where it was written to. */
export function saveRun(benchmark: Benchmark, quick: boolean, measurements: readonly Measurement[]): string {
  const run: Run = { ...circumstances(benchmark), quick, measurements }
  const file = fileOf(benchmark)
  mkdirSync(new URL('.', file), { recursive: true })
  writeFileSync(file, `${JSON.stringify({ ...run, results: benchmark.judge(measurements) }, null, 2)}\n`)
  return fileURLToPath(file)
}

/** The last run on this machine, if there was one. */
export function readRun(benchmark: Benchmark): Run | undefined {
  const file = fileOf(benchmark)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Run) : undefined
}

function fileOf({ name }: Benchmark): URL {
  return new URL(`../results/${name}.json`, import.meta.url)
}
