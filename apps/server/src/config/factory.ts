import { TidegateError } from '@tidegate/core'
import type { ConfigDocument } from './document.js'
import type { Path } from './mistakes.js'

type Fields = Record<string, unknown>

/**
 * What a factory makes of an entry of the file. Factories stop at the first thing that is wrong; to find all of
 * them, each wrong field is noted, put right with its stand-in (left out if it has none), and the rest tried again.
 */
export function made<T>(
  document: ConfigDocument,
  path: Path,
  entry: Fields,
  factory: (entry: Fields) => T,
  standIns: Readonly<Fields>,
): T | undefined {
  let trial = entry
  const tried = new Set<string>()
  for (;;) {
    try {
      const thing = factory(trial)
      return tried.size === 0 ? thing : undefined
    } catch (error) {
      if (!(error instanceof TidegateError)) throw error
      const { field } = error
      document.wrong(field === undefined ? path : [...path, ...field.split('.')], messageOf(error))
      if (field === undefined || tried.has(field) || !Object.hasOwn(standIns, field)) return undefined
      tried.add(field)
      trial = withField(trial, field.split('.'), standIns[field])
    }
  }
}

/** Whether a factory takes something; if not, what it says is noted at that path. */
export function isTaken(document: ConfigDocument, path: Path, factory: () => unknown): boolean {
  try {
    factory()
    return true
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error
    document.wrong(path, messageOf(error))
    return false
  }
}

/** An error's message, without what the line already says. */
export function messageOf({ message, field }: TidegateError): string {
  const start =
    field === undefined ? '' : [`${field}: `, `${field} `].find((name) => message.startsWith(name))
  return message.slice(start?.length ?? 0).replace(/\.$/, '')
}

function withField(fields: Fields, [name = '', ...inside]: readonly string[], value: unknown): Fields {
  const { [name]: old, ...others } = fields
  if (inside.length > 0) return { ...others, [name]: withField(old as Fields, inside, value) }
  return value === undefined ? others : { ...others, [name]: value }
}
