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

/** Where to point: at the value, at its key, or at a character of the file. */
export type ErrorAnchor = 'value' | 'key' | number

type Place = Pick<ConfigError, 'line' | 'column'>

/** Further errors are only counted. */
const MAX_NOTED = 1000

export function createErrorCollector(placeOf: (path: Path, at: ErrorAnchor) => Place): ErrorCollector {
  const noted = new Map<string, ConfigError>()
  const around = new Set<string>()
  let more = 0
  return {
    errors() {
      const sorted = [...noted.values()].sort((a, b) => lineOf(a) - lineOf(b) || columnOf(a) - columnOf(b))
      return more === 0 ? sorted : [...sorted, { path: '', message: `and ${more.toLocaleString('en')} more` }]
    },
    addError(path, message, at = 'value') {
      const name = typeof at === 'number' ? `${placeName(path)}@${at}` : placeName(path)
      if (noted.has(name)) return
      if (noted.size >= MAX_NOTED) {
        more++
        return
      }
      noted.set(name, { ...placeOf(path, at), path: pathText(path), message })
      for (let length = 0; length <= path.length; length++) around.add(placeName(path.slice(0, length)))
    },
    isValid(path) {
      if (around.has(placeName(path))) return false
      return path.every((_, i) => !noted.has(placeName(path.slice(0, i))))
    },
  }
}

/** One text for each path. */
export function placeName(path: Path): string {
  return JSON.stringify(path)
}

function lineOf({ line = 0 }: ConfigError): number {
  return line
}

function columnOf({ column = 0 }: ConfigError): number {
  return column
}
