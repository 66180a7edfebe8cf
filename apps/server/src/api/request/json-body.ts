import { isUtf8 } from 'node:buffer'
import { show } from '@tidegate/core'
import type { FastifyRequest } from 'fastify'
import { badRequest, HttpError } from '../../http/http-error.js'

/** Deeper than any valid body. */
const MAX_DEPTH = 8

/**
 * Parses a body as strict JSON: UTF-8, bounded depth, and no repeated name in an object, because JSON.parse would use
 * the last value and other parsers the first.
 */
export function parseJsonBody(request: FastifyRequest, body: Buffer): unknown {
  // Many clients send Content-Type with every request, also without a body.
  if (request.method === 'DELETE' && body.length === 0) return undefined
  assertJsonContent(request)
  if (!isUtf8(body)) throw badRequest(undefined, 'The body must be encoded as UTF-8.')
  const text = body.toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw badRequest(undefined, 'The body must be JSON, for example {"key": "user:123"}.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest(undefined, 'The body must be an object, for example {"key": "user:123"}.')
  }
  const { names, depth } = structureOf(text)
  if (depth > MAX_DEPTH) throw badRequest(undefined, `The body is nested more than ${MAX_DEPTH} levels deep.`)
  // If the value has fewer names than the text, names are repeated.
  if (names !== namesIn(value)) {
    const name = firstRepeated(text)
    throw badRequest(name?.slice(0, 64), `The field ${show(name)} is repeated; send it once.`)
  }
  return value
}

function assertJsonContent({ headers }: FastifyRequest): void {
  const type = headers['content-type']
  if (type !== 'application/json' && /charset\s*=\s*(?!"?utf-?8\b)/i.test(type ?? '')) {
    throw new HttpError(415, 'Send JSON in UTF-8, with Content-Type: application/json.')
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new HttpError(415, 'Send the body uncompressed, without Content-Encoding.')
  }
}

const [QUOTE, COLON, BACKSLASH] = [0x22, 0x3a, 0x5c]

/** Counts the names in valid JSON, and its depth. */
function structureOf(text: string): { names: number; depth: number } {
  let names = 0
  let depth = 0
  let deepest = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      for (i++; text.charCodeAt(i) !== QUOTE; i++) if (text.charCodeAt(i) === BACKSLASH) i++
    } else if (code === COLON) names++
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth)
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return { names, depth: deepest }
}

function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inside = Object.values(value)
  let names = Array.isArray(value) ? 0 : inside.length
  for (const one of inside) names += namesIn(one)
  return names
}

/** The first repeated name in valid JSON. */
function firstRepeated(text: string): string | undefined {
  const objects: Set<string>[] = []
  for (const [token, name] of text.matchAll(/("(?:[^"\\]|\\.)*")(?=\s*:)|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') objects.push(new Set())
    else if (token === '}') objects.pop()
    else if (name !== undefined) {
      const decodedName = String(JSON.parse(name))
      const names = objects.at(-1)
      if (names?.has(decodedName)) return decodedName
      names?.add(decodedName)
    }
  }
  return undefined
}
