import {
  assertOptions,
  assertPolicy,
  createLimiter,
  type Decision,
  type Duration,
  type LimiterOptions,
  type MaybePromise,
  optionInvalid,
  type Policy,
  type Slot,
  type Store,
  show,
  showKeys,
  slidingWindowCounter,
  TidegateError,
} from '@tidegate/core'
import { asKey } from '../keys/key.js'
import { type KeyValue, keyTextOf } from '../keys/resolvers.js'
import type { AnyLimiter } from '../middleware/check-by-limiter.js'
import { costInvalid, parseCost } from '../middleware/cost.js'
import { createMisuseWarnings } from '../middleware/misuse-warnings.js'
import { policyFor } from '../middleware/policy-use.js'
import { RateLimitExceededError } from './rate-limit-exceeded.js'

export { RateLimitExceededError }

/** The options of the method decorator: `limit` and `window`, or `policy`, or `limiter`. */
export interface MethodRateLimitOptions<Args extends unknown[]> {
  /** The maximum number of calls per window, by a sliding window counter. */
  limit?: number
  /** The length of the window, such as `'1m'`, or in milliseconds. */
  window?: Duration
  /** A policy, instead of `limit` and `window`. */
  policy?: Policy
  /** A limiter with its own store, instead of `limit` and `window`. */
  limiter?: AnyLimiter
  /** The store that counts the calls. Default: a `MemoryStore` for this method. */
  store?: Store
  /** How to handle failures of the store: see `LimiterOptions`. */
  failure?: LimiterOptions['failure']
  /** The key of a call, from its arguments. Default: all calls share one limit. */
  // biome-ignore lint/suspicious/noExplicitAny: the object that the method is called on, of any class
  key?: string | ((this: any, ...args: Args) => MaybePromise<KeyValue>)
  /** The cost of a call. Default: 1. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  cost?: number | ((this: any, ...args: Args) => MaybePromise<number>)
  /** The prefix of the keys. Methods with the same name share a limit. Default: `Class.method`. */
  name?: string
}

/** A method decorator, standard or legacy (`experimentalDecorators`). */
export interface MethodLimit<Args extends unknown[]> {
  // biome-ignore lint/suspicious/noExplicitAny: a method may take more than its key needs
  <This, All extends [...Args, ...any[]], Return>(
    method: (this: This, ...args: All) => Return,
    context: ClassMethodDecoratorContext<This, (this: This, ...args: All) => Return>,
  ): (this: This, ...args: All) => Return
  // biome-ignore lint/suspicious/noExplicitAny: as above
  <All extends [...Args, ...any[]], Return>(
    target: object,
    property: string | symbol,
    descriptor: TypedPropertyDescriptor<(...args: All) => Return>,
  ): void
}

/**
 * Limits the calls of a method. A denied call throws a `RateLimitExceededError`, or rejects with it if the method is async.
 * With a remote store, the method always returns a promise.
 *
 * @example
 * ```ts
 * class Mailer {
 *   @RateLimit({ limit: 10, window: '1m', key: (user: User) => user.id })
 *   async send(user: User) {}
 * }
 * ```
 */
export function RateLimit<Args extends unknown[] = []>(
  options: MethodRateLimitOptions<Args>,
): MethodLimit<Args> {
  const { check, holdsSlots } = defineCheck(options)
  const limited = (method: Method, property: string | symbol) => {
    if (holdsSlots && GENERATOR.test(Object.prototype.toString.call(method))) throw generatorInvalid(property)
    return limitMethod(method, property, check)
  }
  return ((target: unknown, of: unknown, descriptor?: TypedPropertyDescriptor<Method>) => {
    if (descriptor === undefined) return limited(target as Method, (of as { name: string }).name)
    const method = descriptor.value
    if (typeof method !== 'function')
      throw optionInvalid(
        undefined,
        `@RateLimit() can decorate methods only, got ${show(method)}. Write it above a method.`,
      )
    descriptor.value = withMetadata(limited(method, of as string), method)
    return descriptor
  }) as MethodLimit<Args>
}

type Method = (this: unknown, ...args: unknown[]) => unknown
/** Checks one call; undefined if no limit counts it. */
type CallCheck = (self: unknown, args: unknown[], method: string) => MaybePromise<Decision | Slot | undefined>

const OPTIONS = ['limit', 'window', 'policy', 'limiter', 'store', 'failure', 'key', 'cost', 'name']

function defineCheck<Args extends unknown[]>(
  options: MethodRateLimitOptions<Args>,
): { check: CallCheck; holdsSlots: boolean } {
  assertOptions('@RateLimit()', options, OPTIONS)
  const { key, cost = 1, name } = options
  const limiter = limiterOf(options)
  if (typeof key === 'string' && /[{}]/.test(key)) {
    const message = `key must not be a template, because a method has no request, got ${show(key)}. Write a function of the method's arguments, for example key: (user) => user.id.`
    throw optionInvalid('key', message)
  }
  if (key !== undefined && typeof key !== 'string' && typeof key !== 'function') {
    throw optionInvalid(
      'key',
      `key must be a string or a function of the method's arguments, got ${show(key)}. Write for example key: (user) => user.id.`,
    )
  }
  const policy = typeof limiter.policy === 'object' ? limiter.policy : undefined
  const isConcurrency = policy?.algorithm === 'concurrency'
  const fixedCost = typeof cost === 'function' ? undefined : parseCost(cost, policy)(undefined)
  const warnings = createMisuseWarnings('@RateLimit()', limiter, true)
  const user = {}

  const check: CallCheck = (self, args, method) => {
    const prefix = name ?? `${classOf(self)}.${method}`
    if (name === undefined) claimPrefix(limiter, prefix, user)
    const take = (keyText: string | undefined) => {
      if (keyText === undefined) return warnings.reportKeyUndefined() as undefined
      const units = fixedCost ?? (cost as Method).apply(self, args)
      return andThen(units as MaybePromise<number>, (units) => {
        // `check` would take undefined as 1.
        if (units === undefined) throw costInvalid(units)
        return isConcurrency ? limiter.acquire!(asKey(keyText)) : limiter.check(asKey(keyText), units)
      })
    }
    if (key === undefined) return take(prefix)
    const keyValue = typeof key === 'string' ? key : (key as Method).apply(self, args)
    return andThen(keyValue as MaybePromise<KeyValue>, (value) => {
      const text = keyTextOf(value)
      return take(text === undefined ? undefined : `${prefix}:${text}`)
    })
  }
  return { check, holdsSlots: isConcurrency }
}

const GENERATOR = /^\[object (?:Async)?GeneratorFunction\]$/

/** A generator method returns before it runs, so its slot would be released too early. */
function generatorInvalid(property: string | symbol): TidegateError {
  const message = `@RateLimit() cannot hold a slot while a generator runs, got the generator method ${show(String(property))}. Call limiter.acquire() in the method, and release the slot in finally.`
  return optionInvalid('policy', message)
}

function limiterOf(options: MethodRateLimitOptions<never>): AnyLimiter {
  const { limit, window, policy, limiter, store, failure } = options
  const isSimple = limit !== undefined || window !== undefined
  if ([isSimple, policy !== undefined, limiter !== undefined].filter(Boolean).length !== 1) {
    throw optionInvalid(
      undefined,
      `@RateLimit() needs limit and window, or policy, or limiter, got ${show(Object.keys(options))}. Write for example limit: 10, window: '1m'.`,
    )
  }
  if (limiter !== undefined) {
    if (typeof limiter?.check === 'function' && store === undefined && failure === undefined) return limiter
    throw optionInvalid(
      'limiter',
      `limiter must be made by createLimiter(), which also takes store and failure, got ${showKeys(limiter)}. Write for example createLimiter({ policy, store }).`,
    )
  }
  const unnamed = policy ?? slidingWindowCounter({ limit: limit!, window: window! })
  assertPolicy(unnamed)
  return createLimiter({
    // Methods on one store can share the name of a policy, because the prefix of the keys separates them.
    policy: policyFor({ place: 'method' }, unnamed, {}),
    ...(store !== undefined && { store }),
    ...(failure !== undefined && { failure }),
  })
}

/** Reserves a prefix on a store and policy for one decorator, so that classes with the same name do not share a count. */
function claimPrefix(limiter: AnyLimiter, prefix: string, user: object): void {
  const by = limiter.store ?? limiter
  let users = prefixUsers.get(by)
  if (users === undefined) {
    users = new Map()
    prefixUsers.set(by, users)
  }
  const { policy } = limiter
  const place = `${typeof policy === 'object' ? policy.name : policy} ${prefix}`
  const other = users.get(place)
  if (other === undefined) users.set(place, user)
  else if (other !== user) {
    throw new TidegateError(
      'POLICY_UNNAMED',
      `Two methods ${prefix} with @RateLimit() are counted on one store, so they would share one count. Give each a name, for example @RateLimit({ name: 'mail', … }).`,
      { field: 'name' },
    )
  }
}

const prefixUsers = new WeakMap<object, Map<string, object>>()

function limitMethod(method: Method, property: string | symbol, check: CallCheck): Method {
  const name = String(property)
  // Callers of an async method expect a rejection, not a thrown error.
  const isAsync = Object.prototype.toString.call(method) === '[object AsyncFunction]'

  function call(this: unknown, ...args: unknown[]): unknown {
    return andThen(check(this, args, name), (decision) => {
      if (decision?.allowed === false) throw new RateLimitExceededError(decision)
      if (decision !== undefined && 'release' in decision)
        return releasing(decision, () => method.apply(this, args))
      return method.apply(this, args)
    })
  }
  async function callAsync(this: unknown, ...args: unknown[]): Promise<unknown> {
    return call.apply(this, args)
  }
  return Object.defineProperty(isAsync ? callAsync : call, 'name', { value: method.name })
}

/** Runs a method and releases the slot when it has returned, or its promise has settled. */
function releasing(slot: Slot, run: () => unknown): unknown {
  const release = () => void slot[Symbol.asyncDispose]()
  let isPending = false
  try {
    const result = run()
    isPending = typeof (result as Promise<unknown> | undefined)?.then === 'function'
    return isPending ? (async () => result)().finally(release) : result
  } finally {
    if (!isPending) release()
  }
}

/** Copies the metadata of other decorators, such as Nest's, to the method that replaces the original. */
function withMetadata(to: Method, from: Method): Method {
  const { getMetadataKeys, getMetadata, defineMetadata } = Reflect as Partial<ReflectMetadata>
  for (const key of getMetadataKeys?.(from) ?? []) defineMetadata?.(key, getMetadata?.(key, from), to)
  return to
}

/** The API of `reflect-metadata`, if it is loaded. */
interface ReflectMetadata {
  getMetadataKeys(of: object): unknown[]
  getMetadata(key: unknown, of: object): unknown
  defineMetadata(key: unknown, value: unknown, of: object): void
}

/** Runs `next` immediately, or when the promise resolves, so that a synchronous method stays synchronous in memory. */
function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  const isPromise = typeof (value as Promise<T> | undefined)?.then === 'function'
  return isPromise ? (value as Promise<T>).then(next) : next(value as T)
}

function classOf(self: unknown): string {
  if (typeof self === 'function') return self.name
  return (self as object | undefined)?.constructor?.name ?? ''
}
