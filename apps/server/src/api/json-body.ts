import { isUtf8 } from 'node:buffer'
import { show } from '@tidegate/core'
import type { FastifyRequest } from 'fastify'
import { ApiError, badRequest } from './api-error.js'

/** Nothing that is asked for here is deeper. */
const MAX_DEPTH = 8

/**
 * Parses a body as JSON, and strictly: UTF-8, no name twice in one object (JSON.parse would take the last and others
 * the first), and not deep.
 */
export function parseJsonBody(request: FastifyRequest, body: Buffer): unknown {
  // It takes none, and many clients say of every request what its body would be.
  if (request.method === 'DELETE' && body.length === 0) return undefined
  assertPlainJson(request)
  if (!isUtf8(body)) throw badRequest(undefined, 'The body must be UTF-8.')
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
  // As many names as there are in the text, or some have been written over by others.
  if (names !== namesIn(value)) {
    const name = firstRepeated(text)
    throw badRequest(name?.slice(0, 64), `${show(name)} is given more than once; give it once.`)
  }
  return value
}

function assertPlainJson({ headers }: FastifyRequest): void {
  const type = headers['content-type']
  if (type !== 'application/json' && /charset\s*=\s*(?!"?utf-?8\b)/i.test(type ?? '')) {
    throw new ApiError(415, 'Send JSON in UTF-8, with Content-Type: application/json.')
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new ApiError(415, 'Send the body as it is, without Content-Encoding.')
  }
}

const [QUOTE, COLON, BACKSLASH] = [0x22, 0x3a, 0x5c]

/** How many names the objects in a text of valid JSON have, and how deep it is. */
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

/** The first name that an object has already, in a text of valid JSON. */
function firstRepeated(text: string): string | undefined {
  const objects: Set<string>[] = []
  for (const [token, name] of text.matchAll(/("(?:[^"\\]|\\.)*")(?=\s*:)|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') objects.push(new Set())
    else if (token === '}') objects.pop()
    else if (name !== undefined) {
      const plain = String(JSON.parse(name))
      const names = objects.at(-1)
      if (names?.has(plain)) return plain
      names?.add(plain)
    }
  }
  return undefined
}
