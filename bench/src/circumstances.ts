import { availableParallelism, cpus } from 'node:os'
import type { Benchmark } from './benchmark.js'

/** Without these, a figure from another day says nothing. */
export function circumstances({ name, versions }: Benchmark) {
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
