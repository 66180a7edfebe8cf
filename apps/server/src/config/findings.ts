import { type Mistake, type Path, pathText } from './mistakes.js'

/** Collects mistakes while a file is read, so that all of them can be told at once. */
export interface Findings {
  /** In the order of the file. */
  mistakes(): Mistake[]
  /** Notes what is wrong with a value. Of each value the first mistake counts. */
  wrong(path: Path, message: string, at?: Spot): void
  /** Whether nothing was noted of a value, of what it is in, nor of what is in it. */
  isRight(path: Path): boolean
}

/** Where to point: at the value, at its key, or at a character of the file. */
export type Spot = 'value' | 'key' | number

type Place = Pick<Mistake, 'line' | 'column'>

/** More than anybody reads; the rest is only counted. */
const MAX_NOTED = 1000

export function createFindings(placeOf: (path: Path, at: Spot) => Place): Findings {
  const noted = new Map<string, Mistake>()
  const around = new Set<string>()
  let more = 0
  return {
    mistakes() {
      const told = [...noted.values()].sort((a, b) => lineOf(a) - lineOf(b) || columnOf(a) - columnOf(b))
      return more === 0 ? told : [...told, { path: '', message: `and ${more.toLocaleString('en')} more` }]
    },
    wrong(path, message, at = 'value') {
      const name = typeof at === 'number' ? `${placeName(path)}@${at}` : placeName(path)
      if (noted.has(name)) return
      if (noted.size >= MAX_NOTED) {
        more++
        return
      }
      noted.set(name, { ...placeOf(path, at), path: pathText(path), message })
      for (let length = 0; length <= path.length; length++) around.add(placeName(path.slice(0, length)))
    },
    isRight(path) {
      if (around.has(placeName(path))) return false
      return path.every((_, i) => !noted.has(placeName(path.slice(0, i))))
    },
  }
}

/** One text for each path. */
export function placeName(path: Path): string {
  return JSON.stringify(path)
}

function lineOf({ line = 0 }: Mistake): number {
  return line
}

function columnOf({ column = 0 }: Mistake): number {
  return column
}
