import { show } from '@tidegate/core'
import { badRequest, type HttpError } from '../../http/http-error.js'

/** The schema of a route's query: text, or whole numbers of at least 1. */
export interface QuerySchema {
  readonly properties: Readonly<Record<string, { readonly type: 'string' | 'integer' }>>
}

export type Query = Record<string, string | number | undefined>

/**
 * Returns a strict parser for the query of a route. It rejects unknown fields, repeated fields and invalid escapes.
 * Numbers are decimal digits. The result has every field of the schema.
 */
export function queryReader({ properties }: QuerySchema): (raw: string) => Query | HttpError {
  const names = Object.keys(properties)
  const numbers = names.filter((name) => properties[name]!.type === 'integer')
  const empty: Query = Object.fromEntries(names.map((name) => [name, undefined]))

  return (raw) => {
    const query = { ...empty }
    for (let start = 0; start < raw.length; ) {
      let end = raw.indexOf('&', start)
      if (end < 0) end = raw.length
      if (end > start) {
        const name = nameAt(raw, start, end, names)
        if (name === undefined) return unknownField(raw.slice(start, end).split('=')[0]!, names)
        if (query[name] !== undefined) {
          return badRequest(name, `${name} is repeated; send it once.`)
        }
        const value = decode(raw.slice(start + name.length + 1, end))
        if (value === undefined) return badEscape(name)
        query[name] = numbers.includes(name) ? wholeNumber(value) : value
        if (query[name] === undefined) return notANumber(name, value)
      }
      start = end + 1
    }
    return query
  }
}

/** The field name at `start`. Comparing with a few names is faster than a slice and a lookup. */
function nameAt(raw: string, start: number, end: number, names: readonly string[]): string | undefined {
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!
    const nameEnd = start + name.length
    if (!raw.startsWith(name, start)) continue
    if (nameEnd === end || raw.charCodeAt(nameEnd) === 0x3d) return name
  }
  return undefined
}

/** Characters that need decoding. */
const SPECIAL = /[^!-$&-*,-~]/

/** Decodes a form value; undefined for invalid escapes, invalid UTF-8 and characters that must be escaped. */
function decode(text: string): string | undefined {
  if (!SPECIAL.test(text)) return text
  if (/[^!-~]/.test(text)) return undefined
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function wholeNumber(text: string): number | undefined {
  return /^[0-9]+$/.test(text) ? Number(text) : undefined
}

function unknownField(raw: string, names: readonly string[]): HttpError {
  const name = decode(raw) ?? raw
  if (names.includes(name))
    return badRequest(name, `The name ${name} must be sent without escapes, got ${show(raw)}.`)
  const advice = names.length === 0 ? 'this route accepts no query' : `this route accepts ${names.join(', ')}`
  return badRequest(name.slice(0, 64), `Unknown field ${show(name)}; ${advice}.`)
}

function badEscape(name: string): HttpError {
  return badRequest(name, `${name} must be UTF-8, percent-encoded; write %25 for a % and %2B for a +.`)
}

function notANumber(name: string, value: string): HttpError {
  return badRequest(
    name,
    `${name} must be a whole number of at least 1 in decimal digits, got ${show(value)}.`,
  )
}
