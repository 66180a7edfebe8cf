import { TidegateError } from '@tidegate/core'
import type { Path } from './config-error.js'
import type { ConfigDocument } from './document.js'

type Fields = Record<string, unknown>

/**
 * Calls a factory with an entry of the file, and collects all errors. Because a factory throws at its first error, each
 * invalid field is reported and replaced by its stand-in, or left out, and the factory is called again.
 */
export function buildCollectingErrors<T>(
  document: ConfigDocument,
  path: Path,
  entry: Fields,
  factory: (entry: Fields) => T,
  standIns: Readonly<Fields>,
): T | undefined {
  let trial = entry
  const replacedFields = new Set<string>()
  for (;;) {
    try {
      const built = factory(trial)
      return replacedFields.size === 0 ? built : undefined
    } catch (error) {
      if (!(error instanceof TidegateError)) throw error
      const { field } = error
      document.addError(
        field === undefined ? path : [...path, ...field.split('.')],
        errorMessageWithoutField(error),
      )
      if (field === undefined || replacedFields.has(field) || !Object.hasOwn(standIns, field))
        return undefined
      replacedFields.add(field)
      trial = withField(trial, field.split('.'), standIns[field])
    }
  }
}

/** Calls a factory. Adds its error at the path, and returns whether it succeeded. */
export function collectError(document: ConfigDocument, path: Path, factory: () => unknown): boolean {
  try {
    factory()
    return true
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error
    document.addError(path, errorMessageWithoutField(error))
    return false
  }
}

/** The message of an error without the name of its field, which the path already contains. */
export function errorMessageWithoutField({ message, field }: TidegateError): string {
  const start =
    field === undefined ? '' : [`${field}: `, `${field} `].find((name) => message.startsWith(name))
  return message.slice(start?.length ?? 0).replace(/\.$/, '')
}

function withField(fields: Fields, [name = '', ...inside]: readonly string[], value: unknown): Fields {
  const { [name]: old, ...others } = fields
  if (inside.length > 0) return { ...others, [name]: withField(old as Fields, inside, value) }
  return value === undefined ? others : { ...others, [name]: value }
}
