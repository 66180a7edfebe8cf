import { parseDuration } from '@tidegate/core'
import type { Path } from './config-error.js'
import type { ConfigDocument } from './document.js'

/** Returns functions that read single options. Missing and invalid options have their default. */
export function optionOf(document: ConfigDocument) {
  const valueAt = (path: readonly string[]): unknown => {
    const value = document.isValid(path) ? document.at(path) : undefined
    return value ?? document.schemaAt(path)?.default
  }
  return {
    text: (...path: string[]) => valueAt(path) as string,
    textIfAny: (...path: string[]) => valueAt(path) as string | undefined,
    wholeNumber: (...path: string[]) => valueAt(path) as number,

    /** Whole milliseconds, by default up to an hour. */
    durationMs(path: Path & readonly string[], { minMs = 1, max = '1h' } = {}): number {
      const value = valueAt(path)
      const ms = parseDuration(value)
      if (ms !== undefined && Number.isInteger(ms) && ms >= minMs && ms <= parseDuration(max)!) return ms
      document.addError(
        path,
        `must be ${minMs}ms to ${max} in whole milliseconds, got ${JSON.stringify(value)}`,
      )
      return minMs
    },

    /** A group of options, empty if it is missing or invalid. */
    section(name: string): Readonly<Record<string, unknown>> {
      const value = document.isValid([name]) ? document.at([name]) : undefined
      return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
    },
  }
}
