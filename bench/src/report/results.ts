import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Benchmark } from './benchmark.js'
import { environmentOf } from './environment.js'
import type { Measurement } from './figures.js'
import { benchFile } from './paths.js'
import { type BenchPromise, outcomeOf, type Row } from './promise.js'

/** One run of a benchmark, as saved in `bench/results/`. */
export interface Run extends ReturnType<typeof environmentOf> {
  quick: boolean
  measurements: readonly Measurement[]
}

/** Returns the path of the file. */
export function saveRun(benchmark: Benchmark, quick: boolean, measurements: readonly Measurement[]): string {
  const run: Run = { ...environmentOf(benchmark), quick, measurements }
  const file = fileOf(benchmark)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(run, null, 2)}\n`)
  return file
}

/** The last run on this machine, or undefined. */
export function readRun(benchmark: Benchmark): Run | undefined {
  const file = fileOf(benchmark)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Run) : undefined
}

/** The outcome of each promise in the last runs; a promise without a saved run stays as it is. */
export function lastOutcomes(benchmarks: readonly Benchmark[], promises: readonly BenchPromise[]): Row[] {
  const runs = new Map(benchmarks.map((benchmark) => [benchmark.name, readRun(benchmark)]))
  return promises.map((promise) => {
    const run = runs.get(promise.benchmark)
    return run === undefined ? promise : outcomeOf(promise, run.measurements)
  })
}

function fileOf({ name }: Benchmark): string {
  return benchFile(`results/${name}.json`)
}
