import {
  assertOptions,
  createLimiter,
  type Decision,
  type Duration,
  type LimiterOptions,
  type MaybePromise,
  type Policy,
  type Store,
  show,
  slidingWindowCounter,
  TidegateError,
} from '@tidegate/core'
import { costInvalid, parseCost } from './cost.js'
import type { AnyLimiter } from './count-by-limiter.js'
import { asKey } from './key.js'
import { watchMistakes } from './mistakes.js'
import { RateLimitExceededError } from './rate-limit-exceeded.js'
import { type KeyFound, keyTextOf } from './resolvers.js'
import { when } from './when.js'

export { RateLimitExceededError }

/** How often a method may be called: `limit` and `window`, or one of `policy` and `limiter`. */
export interface RateLimitOptions<Args extends unknown[]> {
  /** Calls per window, by a sliding window. */
  limit?: number
  /** `'1m'`, or milliseconds. */
  window?: Duration
  /** Any policy. */
  policy?: Policy
  /** Any limiter, with its own store. */
  limiter?: AnyLimiter
  /** Where the calls are counted. Default: a `MemoryStore` for this method. */
  store?: Store
  /** What to do when the store fails: see `createLimiter`. Default: what `createLimiter` does. */
  failure?: LimiterOptions['failure']
  /** Who is calling, from what the method is called with. Default: all callers together. */
  // biome-ignore lint/suspicious/noExplicitAny: the object that the method is called on, whatever its class
  key?: string | ((this: any, ...args: Args) => MaybePromise<KeyFound>)
  /** What a call takes. Default: 1. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  cost?: number | ((this: any, ...args: Args) => MaybePromise<number>)
  /** What stands before the key. Default: the names of the class and the method. */
  name?: string
}

/** A decorator of methods: as the language has it, or as TypeScript had it before (`experimentalDecorators`). */
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
 * `@RateLimit({ limit: 10, window: '1m', key: (user) => user.id })` on a method: what is called too often throws a
 * `RateLimitExceededError`, or rejects with it if the method is async. With a store that is not in this process
 * the method always answers with a promise.
 */
export function RateLimit<Args extends unknown[] = []>(options: RateLimitOptions<Args>): MethodLimit<Args> {
  const limit = defineLimit(options)
  return ((target: unknown, of: unknown, descriptor?: TypedPropertyDescriptor<Method>) => {
    if (descriptor === undefined) return limited(target as Method, (of as { name: string }).name, limit)
    const method = descriptor.value
    if (typeof method !== 'function') throw invalid(undefined, '@RateLimit() is for methods.')
    descriptor.value = withMetadata(limited(method, of as string, limit), method)
    return descriptor
  }) as MethodLimit<Args>
}

type Method = (this: unknown, ...args: unknown[]) => unknown
/** The decision about one call; undefined if nothing counts it. */
type Limit = (self: unknown, args: unknown[], method: string) => MaybePromise<Decision | undefined>

const OPTIONS = ['limit', 'window', 'policy', 'limiter', 'store', 'failure', 'key', 'cost', 'name']

function defineLimit<Args extends unknown[]>(options: RateLimitOptions<Args>): Limit {
  assertOptions('@RateLimit()', options, OPTIONS)
  const { key, cost = 1, name } = options
  const limiter = limiterOf(options)
  if (typeof key === 'string' && /[{}]/.test(key)) {
    const message = `key has a template, and a method has no request: write a function, got ${show(key)}.`
    throw invalid('key', message)
  }
  if (key !== undefined && typeof key !== 'string' && typeof key !== 'function') {
    throw invalid(
      'key',
      `key must be text or a function of what the method is called with, got ${show(key)}.`,
    )
  }
  const policy = typeof limiter.policy === 'object' ? limiter.policy : undefined
  const fixedCost = typeof cost === 'function' ? undefined : parseCost(cost, policy)(undefined)
  const mistakes = watchMistakes('@RateLimit()', limiter, true)

  return (self, args, method) => {
    const prefix = name ?? `${classOf(self)}.${method}`
    const take = (found: string | undefined) => {
      if (found === undefined) return mistakes.keyUndefined() as undefined
      const units = fixedCost ?? (cost as Method).apply(self, args)
      return when(units as MaybePromise<number>, (units) => {
        // A limiter takes undefined for 1.
        if (units === undefined) throw costInvalid(units)
        return limiter.check(asKey(found), units)
      })
    }
    if (key === undefined) return take(prefix)
    const found = typeof key === 'string' ? key : (key as Method).apply(self, args)
    return when(found as MaybePromise<KeyFound>, (found) => {
      const text = keyTextOf(found)
      return take(text === undefined ? undefined : `${prefix}:${text}`)
    })
  }
}

function limiterOf(options: RateLimitOptions<never>): AnyLimiter {
  const { limit, window, policy, limiter, store, failure } = options
  const isSimple = limit !== undefined || window !== undefined
  if ([isSimple, policy !== undefined, limiter !== undefined].filter(Boolean).length !== 1) {
    throw invalid(
      undefined,
      "Write limit and window, or policy, or limiter: for example limit: 10, window: '1m'.",
    )
  }
  if (limiter !== undefined) {
    if (typeof limiter?.check === 'function' && store === undefined && failure === undefined) return limiter
    throw invalid(
      'limiter',
      'limiter must be made by createLimiter(), which also takes its store and failure.',
    )
  }
  return createLimiter({
    policy: policy ?? slidingWindowCounter({ limit: limit!, window: window! }),
    ...(store !== undefined && { store }),
    ...(failure !== undefined && { failure }),
  })
}

function limited(method: Method, property: string | symbol, limit: Limit): Method {
  const name = String(property)
  // An async method must reject: who calls it has a `catch` for a promise, and none for what is thrown.
  const isAsync = Object.prototype.toString.call(method) === '[object AsyncFunction]'

  function call(this: unknown, ...args: unknown[]): unknown {
    return when(limit(this, args, name), (decision) => {
      if (decision?.allowed === false) throw new RateLimitExceededError(decision)
      return method.apply(this, args)
    })
  }
  async function callAsync(this: unknown, ...args: unknown[]): Promise<unknown> {
    return call.apply(this, args)
  }
  return Object.defineProperty(isAsync ? callAsync : call, 'name', { value: method.name })
}

/** What other decorators have noted on a method, such as Nest's: they look for it on what takes its place. */
function withMetadata(to: Method, from: Method): Method {
  const { getMetadataKeys, getMetadata, defineMetadata } = Reflect as Partial<ReflectMetadata>
  for (const key of getMetadataKeys?.(from) ?? []) defineMetadata?.(key, getMetadata?.(key, from), to)
  return to
}

/** Of `reflect-metadata`, where it is loaded. */
interface ReflectMetadata {
  getMetadataKeys(of: object): unknown[]
  getMetadata(key: unknown, of: object): unknown
  defineMetadata(key: unknown, value: unknown, of: object): void
}

function classOf(self: unknown): string {
  if (typeof self === 'function') return self.name
  return (self as object | undefined)?.constructor?.name ?? ''
}

function invalid(field: string | undefined, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, field === undefined ? {} : { field })
}
