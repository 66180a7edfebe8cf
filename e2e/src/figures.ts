import { mkdirSync, writeFileSync } from 'node:fs'

/** A row of the table in docs/operators/reliability.md. */
export interface Row {
  /** The name of its test file, without the extension. */
  readonly name: string
  /** The position in the table. */
  readonly place: number
  readonly fault: string
  readonly promise: string
  /** The result, in words. */
  readonly seen: string
  readonly figures: Readonly<Record<string, number | string>>
}

const FOLDER = new URL('../results/', import.meta.url)

/** Prints the result, and saves it for the table. */
export function report(row: Row): void {
  console.log(`${row.name}: ${row.seen}\n  ${JSON.stringify(row.figures)}`)
  mkdirSync(FOLDER, { recursive: true })
  const run = { date: new Date().toISOString(), node: process.versions.node, ...row }
  writeFileSync(new URL(`${row.name}.json`, FOLDER), `${JSON.stringify(run, null, 2)}\n`)
}

export function whole(number: number): string {
  return Math.round(number).toLocaleString('en')
}

/** The percentile of the values, as a fraction. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}

export function highest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0)
}
