import type { Environment, ReplacementResult } from '../config-file/variables.js'
import { relaxedName, variableOf } from './names.js'

/** Looks up a property of the file; undefined if the file does not have it. */
export type PropertyOf = (relaxed: string) => string | undefined

/** Longer values are caused by properties that refer to each other by mistake. */
const MAX_LENGTH = 65_536
const MAX_DEPTH = 16
const MAX_PLACEHOLDERS = 1000

/**
 * Replaces `${name}` and `${name:default}` by the environment variable, or else by the property of the file. Values and
 * defaults may contain placeholders too. `$${` and `\${` write `${`.
 */
export function replacePlaceholders(
  written: string,
  env: Environment,
  propertyOf: PropertyOf,
): ReplacementResult {
  const values: string[] = []
  const resolving = new Set<string>()
  let count = 0
  try {
    return { text: replace(written, 0), values }
  } catch (error) {
    if (!(error instanceof PlaceholderError)) throw error
    return { problem: error.message }
  }

  function replace(text: string, depth: number): string {
    if (depth > MAX_DEPTH || count > MAX_PLACEHOLDERS)
      throw new PlaceholderError(
        `too many nested placeholders; the maximum is ${MAX_DEPTH} levels and ${MAX_PLACEHOLDERS.toLocaleString('en')} placeholders`,
      )
    let result = ''
    let at = 0
    for (;;) {
      const start = text.indexOf('${', at)
      if (start < 0) return limitLength(result + text.slice(at))
      if (text[start - 1] === '$' || text[start - 1] === '\\') {
        result += `${text.slice(at, start - 1)}\${`
        at = start + 2
        continue
      }
      const end = endOf(text, start)
      if (end === undefined)
        throw new PlaceholderError(
          'missing "}" of a placeholder; write ${name:default}, or $${ for a literal ${',
        )
      result = limitLength(result + text.slice(at, start) + resolve(text.slice(start + 2, end), depth + 1))
      at = end + 1
    }
  }

  function resolve(inside: string, depth: number): string {
    count++
    const colon = colonIn(inside)
    const name = replace(colon === undefined ? inside : inside.slice(0, colon), depth).trim()
    const variable = variableNamed(name, env)
    if (variable !== undefined) {
      values.push(variable)
      return variable
    }
    const property = propertyOf(relaxedPath(name))
    if (property !== undefined && property !== '') {
      if (resolving.has(name)) throw new PlaceholderError(`\${${name}} refers to itself; write its value`)
      resolving.add(name)
      const value = replace(property, depth)
      resolving.delete(name)
      return value
    }
    if (colon !== undefined) return replace(inside.slice(colon + 1), depth)
    if (property !== undefined) return ''
    throw new PlaceholderError(
      `\${${name}} is neither an environment variable nor a property of the file; set it, or write \${${name}:default}`,
    )
  }
}

class PlaceholderError extends Error {}

function limitLength(text: string): string {
  if (text.length <= MAX_LENGTH) return text
  throw new PlaceholderError(
    `must have at most ${MAX_LENGTH.toLocaleString('en')} characters after its placeholders are replaced`,
  )
}

/** `app.eureka-server` is also APP_EUREKASERVER and APP_EUREKA_SERVER. An empty variable counts as missing. */
function variableNamed(name: string, env: Environment): string | undefined {
  const spellings = [name, variableOf(name.split('.')), name.replace(/[.-]/g, '_').toUpperCase()]
  const spelling = spellings.find((spelling) => Object.hasOwn(env, spelling) && env[spelling])
  return spelling === undefined ? undefined : env[spelling]
}

export function relaxedPath(name: string): string {
  return name.split('.').map(relaxedName).join('.')
}

/** The `}` that closes the placeholder at `start`. */
function endOf(text: string, start: number): number | undefined {
  let depth = 0
  for (let i = start + 2; i < text.length; i++) {
    if (text.startsWith('${', i)) depth++
    else if (text[i] === '}' && depth-- === 0) return i
  }
  return undefined
}

/** The first colon that is not inside another placeholder. */
function colonIn(text: string): number | undefined {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    if (text.startsWith('${', i)) depth++
    else if (text[i] === '}') depth--
    else if (text[i] === ':' && depth === 0) return i
  }
  return undefined
}
