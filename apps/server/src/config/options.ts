import { parseDuration } from '@tidegate/core'
import type { ConfigDocument } from './document.js'
import type { Path } from './mistakes.js'
import { defaultOf } from './schema.js'

/** Reads single values: what is left out, and what is wrong and noted, is its default. */
export function optionOf(document: ConfigDocument) {
  const valueAt = (path: readonly string[]): unknown => {
    const given = document.isRight(path) ? document.at(path) : undefined
    return given ?? defaultOf(...path)
  }
  return {
    text: (...path: string[]) => valueAt(path) as string,
    textIfAny: (...path: string[]) => valueAt(path) as string | undefined,
    whole: (...path: string[]) => valueAt(path) as number,

    /** Whole milliseconds, up to an hour if nothing else is said. */
    durationMs(path: Path & readonly string[], { minMs = 1, max = '1h' } = {}): number {
      const given = valueAt(path)
      const ms = parseDuration(given)
      if (ms !== undefined && Number.isInteger(ms) && ms >= minMs && ms <= parseDuration(max)!) return ms
      document.wrong(path, `must be ${minMs}ms to ${max} in whole milliseconds, got ${JSON.stringify(given)}`)
      return minMs
    },

    /** A group of options, empty if it is left out or wrong. */
    section(name: string): Readonly<Record<string, unknown>> {
      const given = document.isRight([name]) ? document.at([name]) : undefined
      return typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {}
    },
  }
}
