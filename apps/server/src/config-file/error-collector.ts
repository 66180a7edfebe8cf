import { type ConfigError, type Path, pathText } from './config-error.js'

/** Collects the errors of a file, so that all of them are reported at once. */
export interface ErrorCollector {
  /** In the order of the file. */
  errors(): ConfigError[]
  /** Adds an error. Only the first error of each value is kept. */
  addError(path: Path, message: string, at?: ErrorAnchor): void
  /** Whether neither the value, nor its parents, nor its children have an error. */
  isValid(path: Path): boolean
}

/** The position of an error: its value, its key, an offset in the file, or none for an error of the environment. */
export type ErrorAnchor = 'value' | 'key' | 'none' | number

type Place = Pick<ConfigError, 'line' | 'column'>

/** Errors beyond this number are only counted. */
const MAX_ERRORS = 1000

export function createErrorCollector(placeOf: (path: Path, at: ErrorAnchor) => Place): ErrorCollector {
  const errorsByPlace = new Map<string, ConfigError>()
  /** The places with an error, and all places around them. */
  const affected = new Set<string>()
  let omitted = 0
  return {
    errors() {
      const sorted = [...errorsByPlace.values()].sort(
        (a, b) => lineOf(a) - lineOf(b) || columnOf(a) - columnOf(b),
      )
      return omitted === 0
        ? sorted
        : [...sorted, { path: '', message: `and ${omitted.toLocaleString('en')} more errors` }]
    },
    addError(path, message, at = 'value') {
      const name = typeof at === 'number' ? `${placeName(path)}@${at}` : placeName(path)
      if (errorsByPlace.has(name)) return
      if (errorsByPlace.size >= MAX_ERRORS) {
        omitted++
        return
      }
      errorsByPlace.set(name, { ...placeOf(path, at), path: pathText(path), message })
      for (let length = 0; length <= path.length; length++) affected.add(placeName(path.slice(0, length)))
    },
    isValid(path) {
      if (affected.has(placeName(path))) return false
      return path.every((_, i) => !errorsByPlace.has(placeName(path.slice(0, i))))
    },
  }
}

/** A unique text for each path. */
export function placeName(path: Path): string {
  return JSON.stringify(path)
}

function lineOf({ line = 0 }: ConfigError): number {
  return line
}

function columnOf({ column = 0 }: ConfigError): number {
  return column
}
