import { countUpTo } from './times.js'

/** A number that changes at certain times and stays the same in between. */
export interface Steps {
  /** Ascending. The last of several equal times counts. */
  readonly atMs: readonly number[]
  readonly values: readonly number[]
}

/** The number at a time; 0 before the first change. */
export function valueAt({ atMs, values }: Steps, at: number): number {
  return values[countUpTo(atMs, at) - 1] ?? 0
}

/** Records a number, without repeating it. */
export function createSteps(): Steps & { add(atMs: number, value: number): void } {
  const atMs: number[] = []
  const values: number[] = []
  return {
    atMs,
    values,
    add(at, value) {
      if (values.at(-1) === value) return
      atMs.push(at)
      values.push(value)
    },
  }
}
