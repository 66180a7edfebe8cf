import { type MaybePromise, optionInvalid, show, TidegateError } from '@tidegate/core'
import type { RequestFacts } from '../request.js'
import { asKey } from './key.js'
import { handlerMethod } from './sources.js'
import { parseTemplate } from './template.js'

/*
 * Key resolvers. Each adds its own prefix, so that two resolvers never produce the same key: the user `192.0.2.1` and the
 * address 192.0.2.1 have different keys.
 */

/** Finds the key of a request. */
export interface KeyResolver<Request = unknown> {
  /** Returns the key of a request, or undefined if it has none. The request is then not counted. */
  resolve(facts: RequestFacts, request: Request): MaybePromise<string | undefined>
}

/** The result of a key function. Undefined, null and `''` mean that the request has no key. */
export type KeyValue = string | number | bigint | null | undefined

/** The option `key`: a template such as `'user:{header.x-user-id}'`, a function of the request, or a resolver. */
export type KeyOption<Request> =
  | string
  | KeyResolver<Request>
  | ((request: Request) => MaybePromise<KeyValue>)

/**
 * Limits by the client's address. The key is for example `ip:192.0.2.1`.
 *
 * @example
 * ```ts
 * app.use(rateLimit({ limit: 100, window: '1m', key: byIp() }))
 * ```
 */
export function byIp(): KeyResolver {
  return BY_IP
}

/** The template `ip:{ip}` without its overhead, because most requests use this key. */
const BY_IP: KeyResolver = Object.freeze({
  resolve: ({ ip }: RequestFacts) => (ip === undefined ? undefined : `ip:${ip}`),
})

/** Limits by a header. The key is for example `header.x-user-id:alice`. Use it only for headers that your own proxy sets. */
export function byHeader(name: string): KeyResolver {
  return parseTemplate(`header.${nameOf(name)}:{header.${nameOf(name)}}`)
}

/** Limits by an API key in a header. The key is `api-key:` and its SHA-256, because an API key is a secret. */
export function byApiKey(header = 'x-api-key'): KeyResolver {
  return parseTemplate(`api-key:{sha256(header.${nameOf(header)})}`)
}

/** Limits by the framework's route. The key is for example `route:GET /users/:id`. HEAD counts as GET. */
export function byRoute(): KeyResolver {
  return BY_ROUTE
}

const BY_ROUTE: KeyResolver = Object.freeze({
  resolve: ({ method, route }: RequestFacts) =>
    route === undefined ? undefined : asKey(`route:${handlerMethod(method)} ${route}`),
})

/**
 * Limits by the authenticated user, whose id the function reads from the request. The key is for example `user:123`.
 *
 * @example
 * ```ts
 * app.use(rateLimit({ limit: 100, window: '1m', key: byUser((request) => request.user?.id) }))
 * ```
 */
export function byUser<Request>(read: (request: Request) => MaybePromise<KeyValue>): KeyResolver<Request> {
  if (typeof read !== 'function') {
    throw optionInvalid(
      'key',
      `byUser() takes a function of the request, got ${show(read)}. Write for example byUser((request) => request.user?.id).`,
    )
  }
  return {
    async resolve(_, request) {
      const text = keyTextOf(await read(request))
      return text === undefined ? undefined : asKey(`user:${text}`)
    },
  }
}

/** Uses the first key that the request has, such as `firstOf(byApiKey(), byIp())`. */
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

/** Combines keys, such as `route:GET /search|ip:192.0.2.1`. A request that lacks one of them has no key. */
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

export function keyTextOf(value: KeyValue): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value
  // NaN is rejected, because all clients without a number would share one key.
  if (typeof value === 'bigint' || Number.isFinite(value)) return String(value)
  const isUncalled =
    typeof value === 'function' || typeof (value as { resolve?: unknown }).resolve === 'function'
  const advice = isUncalled
    ? 'Call a function that creates a resolver: write key: byIp().'
    : `Return for example \`user:\${id}\`.`
  const message = `The key of a request must be a string, a number or a bigint, got ${show(value)}. ${advice}`
  throw new TidegateError('KEY_INVALID', message, { field: 'key' })
}

function nameOf(header: string): string {
  return typeof header === 'string' ? header.toLowerCase() : String(header)
}

function assertResolvers(caller: string, resolvers: readonly unknown[]): void {
  const isResolver = (value: unknown) =>
    typeof (value as Partial<KeyResolver> | undefined)?.resolve === 'function'
  if (resolvers.length > 0 && resolvers.every(isResolver)) return
  const invalid = resolvers.length === 0 ? resolvers : resolvers.find((value) => !isResolver(value))
  const advice = callOf(invalid) ?? `for example ${caller}(byApiKey(), byIp())`
  throw optionInvalid('key', `${caller}() takes resolvers, got ${show(invalid)}. Write ${advice}.`)
}
