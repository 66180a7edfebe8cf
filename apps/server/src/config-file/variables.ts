import type { JsonSchema } from './json-schema.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** A text after replacing its variables, with the values from the environment; or the problem. */
export type ReplacementResult = { text: string; values: readonly string[] } | { problem: string }

/**
 * Replaces `${NAME}` and `${NAME:-fallback}`, or `${NAME:fallback}` as in Spring, by the environment variable; `$${`
 * writes `${`. As in a shell, the fallback is also used for an empty variable. The result is not parsed again: a variable
 * cannot contain further variables or YAML.
 */
export function replaceVariables(written: string, env: Environment): ReplacementResult {
  let text = ''
  const values: string[] = []
  let at = 0
  while (at < written.length) {
    const start = written.indexOf('${', at)
    if (start < 0) break
    if (start > at && written[start - 1] === '$') {
      text += `${written.slice(at, start - 1)}\${`
      at = start + 2
      continue
    }
    const end = written.indexOf('}', start)
    const inside = written.slice(start + 2, end < 0 ? undefined : end)
    const match = /^([A-Za-z_]\w*)(?::(?:-|(?![-?+=]))([\s\S]*))?$/.exec(inside)
    if (end < 0 || !match || inside.includes('${')) return { problem: INVALID_VARIABLE }
    const [, name = '', fallback] = match
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value === undefined && fallback === undefined) {
      const problem = `environment variable ${name} is not set; set it, or write \${${name}:-fallback}, or $\${${name}} for that literal text`
      return { problem }
    }
    text += written.slice(at, start) + (value || (fallback ?? ''))
    values.push(value ?? '')
    at = end + 1
  }
  return { text: text + written.slice(at), values }
}

const INVALID_VARIABLE = 'invalid variable: write ${NAME} or ${NAME:-fallback}, or $${ for a literal ${'

/** Converts text from the environment to a number or a boolean, if the schema allows one. */
export function toSchemaType(text: string, schema: JsonSchema | undefined): string | number | boolean {
  const types = [schema?.type ?? 'string'].flat()
  if ((types.includes('integer') || types.includes('number')) && /^-?\d{1,15}(\.\d{1,6})?$/.test(text)) {
    return Number(text)
  }
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
