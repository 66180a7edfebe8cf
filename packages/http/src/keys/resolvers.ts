import { type MaybePromise, optionInvalid, show, TidegateError } from '@tidegate/core'
import type { RequestFacts } from '../request.js'
import { asKey } from './key.js'
import { handlerMethod } from './sources.js'
import { parseTemplate } from './template.js'

/*
 * Ready-made keys. Each puts its own kind before the value, so that two resolvers never produce the same key: a user
 * named 192.0.2.1 is not the client at that address.
 */

/** Finds the key of a request; undefined if the request has none. */
export interface KeyResolver<Request = unknown> {
  resolve(facts: RequestFacts, request: Request): MaybePromise<string | undefined>
}

/** The result of a key function. Undefined, null and an empty text mean that the request has no key. */
export type KeyValue = string | number | bigint | null | undefined

/** A template (`'user:{header.x-user-id}'`), a function of the framework's request, or a resolver. */
export type KeyOption<Request> =
  | string
  | KeyResolver<Request>
  | ((request: Request) => MaybePromise<KeyValue>)

/** The client's address: `ip:192.0.2.1`. */
export function byIp(): KeyResolver {
  return BY_IP
}

/** The template `ip:{ip}` without its overhead, because most requests use this key. */
const BY_IP: KeyResolver = Object.freeze({
  resolve: ({ ip }: RequestFacts) => (ip === undefined ? undefined : `ip:${ip}`),
})

/** A header as it was sent: `header.x-user-id:alice`. Use it only for headers that your own proxy sets. */
export function byHeader(name: string): KeyResolver {
  return parseTemplate(`header.${nameOf(name)}:{header.${nameOf(name)}}`)
}

/** An API key in a header, hashed because it is a secret: `api-key:` and 64 hexadecimal digits. */
export function byApiKey(header = 'x-api-key'): KeyResolver {
  return parseTemplate(`api-key:{sha256(header.${nameOf(header)})}`)
}

/** The framework's route: `route:GET /users/:id`. HEAD counts as GET, because it runs the same handler. */
export function byRoute(): KeyResolver {
  return BY_ROUTE
}

const BY_ROUTE: KeyResolver = Object.freeze({
  resolve: ({ method, route }: RequestFacts) =>
    route === undefined ? undefined : asKey(`route:${handlerMethod(method)} ${route}`),
})

/** A verified user: `user:123`. The function reads the id from the framework's request. */
export function byUser<Request>(read: (request: Request) => MaybePromise<KeyValue>): KeyResolver<Request> {
  if (typeof read !== 'function') {
    throw optionInvalid(
      'key',
      `byUser() takes a function such as (request) => request.user?.id, got ${show(read)}.`,
    )
  }
  return {
    async resolve(_, request) {
      const text = keyTextOf(await read(request))
      return text === undefined ? undefined : asKey(`user:${text}`)
    },
  }
}

/** The first of these that the request has: `firstOf(byApiKey(), byIp())`. */
export function firstOf<Request = unknown>(...resolvers: KeyResolver<Request>[]): KeyResolver<Request> {
  assertResolvers('firstOf', resolvers)
  return {
    async resolve(facts, request) {
      for (const resolver of resolvers) {
        const key = await resolver.resolve(facts, request)
        if (key !== undefined) return key
      }
      return undefined
    },
  }
}

/** All of these together, `route:GET /search|ip:192.0.2.1`; a request that lacks one of them has no key. */
export function allOf<Request = unknown>(...resolvers: KeyResolver<Request>[]): KeyResolver<Request> {
  assertResolvers('allOf', resolvers)
  return {
    async resolve(facts, request) {
      return joined(await Promise.all(resolvers.map(async (resolver) => resolver.resolve(facts, request))))
    },
  }
}

/** The resolver for the option `key`. */
export function resolverOf<Request>(option: KeyOption<Request>): KeyResolver<Request> {
  if (typeof option === 'string') return parseTemplate(option)
  const call = callOf(option)
  if (call !== undefined) {
    throw optionInvalid(
      'key',
      `key must be a resolver, got the function that creates it. Write key: ${call}.`,
    )
  }
  if (typeof option === 'function') {
    return {
      async resolve(_, request) {
        const text = keyTextOf(await option(request))
        return text === undefined ? undefined : asKey(text)
      },
    }
  }
  if (typeof option?.resolve === 'function') return option
  throw optionInvalid(
    'key',
    `key must be a template such as 'ip:{ip}', a function of the request, or a resolver such as byIp(), got ${show(option)}.`,
  )
}

/** How to call a function of this file that was passed without being called. */
function callOf(value: unknown): string | undefined {
  return CALLS.get(value)
}

const CALLS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [byIp, 'byIp()'],
  [byHeader, "byHeader('x-user-id')"],
  [byApiKey, 'byApiKey()'],
  [byRoute, 'byRoute()'],
  [byUser, 'byUser((request) => request.user?.id)'],
  [firstOf, 'firstOf(byApiKey(), byIp())'],
  [allOf, 'allOf(byRoute(), byIp())'],
])

function joined(keys: (string | undefined)[]): string | undefined {
  let text = ''
  for (const key of keys) {
    if (key === undefined) return undefined
    // The separator of two keys must not occur in a key.
    const escaped = /[%|]/.test(key) ? key.replaceAll('%', '%25').replaceAll('|', '%7C') : key
    text += text === '' ? escaped : `|${escaped}`
  }
  return asKey(text)
}

export function keyTextOf(found: KeyValue): string | undefined {
  if (found === undefined || found === null || found === '') return undefined
  if (typeof found === 'string') return found
  // NaN is rejected: all clients without a number would share one key.
  if (typeof found === 'bigint' || Number.isFinite(found)) return String(found)
  const isUncalled =
    typeof found === 'function' || typeof (found as { resolve?: unknown }).resolve === 'function'
  const advice = isUncalled
    ? 'Call a function that creates a resolver: write key: byIp().'
    : `Return for example \`user:\${id}\`.`
  const message = `The key of a request must be a string, a number or a bigint, got ${show(found)}. ${advice}`
  throw new TidegateError('KEY_INVALID', message, { field: 'key' })
}

function nameOf(header: string): string {
  return typeof header === 'string' ? header.toLowerCase() : String(header)
}

function assertResolvers(of: string, resolvers: readonly unknown[]): void {
  const isRight = (one: unknown) => typeof (one as Partial<KeyResolver> | undefined)?.resolve === 'function'
  if (resolvers.length > 0 && resolvers.every(isRight)) return
  const wrong = resolvers.find((one) => !isRight(one))
  const call = callOf(wrong)
  throw optionInvalid(
    'key',
    `${of}() takes resolvers such as byUser(…), byApiKey() and byIp(), got ${show(resolvers.length === 0 ? resolvers : wrong)}.${call === undefined ? '' : ` Write ${call}.`}`,
  )
}
