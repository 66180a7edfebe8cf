import { availableParallelism, cpus } from 'node:os'
import type { Benchmark } from './benchmark.js'

/** The machine and the versions of a run. Figures compare only within one environment. */
export function environmentOf({ name, versions }: Benchmark) {
  return {
    benchmark: name,
    date: new Date().toISOString(),
    node: process.version,
    v8: process.versions.v8,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    versions: versions(),
  }
}
