import { parseDuration } from '@tidegate/core'
import type { Path } from './config-error.js'
import type { ConfigDocument } from './document.js'

/** Reads single options. Missing and invalid options have their default. */
export function optionOf(document: ConfigDocument) {
  const valueAt = (path: readonly string[]): unknown => {
    const given = document.isValid(path) ? document.at(path) : undefined
    return given ?? document.schemaAt(path)?.default
  }
  return {
    text: (...path: string[]) => valueAt(path) as string,
    textIfAny: (...path: string[]) => valueAt(path) as string | undefined,
    whole: (...path: string[]) => valueAt(path) as number,

    /** Whole milliseconds, by default up to an hour. */
    durationMs(path: Path & readonly string[], { minMs = 1, max = '1h' } = {}): number {
      const given = valueAt(path)
      const ms = parseDuration(given)
      if (ms !== undefined && Number.isInteger(ms) && ms >= minMs && ms <= parseDuration(max)!) return ms
      document.addError(
        path,
        `must be ${minMs}ms to ${max} in whole milliseconds, got ${JSON.stringify(given)}`,
      )
      return minMs
    },

    /** A group of options, empty if it is missing or invalid. */
    section(name: string): Readonly<Record<string, unknown>> {
      const given = document.isValid([name]) ? document.at([name]) : undefined
      return typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {}
    },
  }
}
