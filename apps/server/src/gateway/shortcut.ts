/** A predicate or a filter by name, and the values that it is given in order. */
export interface Shortcut {
  readonly name: string
  readonly values: readonly string[]
}

/**
 * `Path=/api/**, /v1/**`: a name, and values with commas between. As in Spring, a comma always divides, and what is
 * empty is left out; a value with a comma in it is written with `name` and `args`.
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
