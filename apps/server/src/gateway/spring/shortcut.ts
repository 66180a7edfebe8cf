/** A predicate or a filter with its values, in order. */
export interface Shortcut {
  readonly name: string
  readonly values: readonly string[]
}

/**
 * `Path=/api/**, /v1/**`: a name, and values separated by commas. As in Spring, empty values are dropped, and a value that
 * contains a comma must be written with `name` and `args`.
 */
export function parseShortcut(text: string): Shortcut {
  const equals = text.indexOf('=')
  if (equals < 0) return { name: text.trim(), values: [] }
  const values = text.slice(equals + 1).split(',')
  return {
    name: text.slice(0, equals).trim(),
    values: values.map((value) => value.trim()).filter((value) => value !== ''),
  }
}
