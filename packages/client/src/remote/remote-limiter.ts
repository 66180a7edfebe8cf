import {
  type AsyncLimiter,
  type AsyncStore,
  assertOptions,
  assertPolicy,
  createLimiter,
  type Decision,
  definePolicy,
  type FailureOptions,
  type OnStoreFailure,
  optionInvalid,
  type Policy,
  type ResilientStore,
  type Slot,
  show,
  TidegateError,
  withFallback,
} from '@tidegate/core'
import {
  createRemoteStore,
  DEADLINE_MS,
  REMOTE_STORE_OPTIONS,
  type RemoteStoreOptions,
} from './remote-store.js'
import { policyWithoutNumbers, withoutNumbers } from './without-numbers.js'

/** Options of `createRemoteLimiter`. */
export interface RemoteLimiterOptions<P extends Policy | string = Policy | string>
  extends RemoteStoreOptions,
    FailureOptions {
  /** A policy of the service: its name, or a policy with the same name and numbers. An alternative to `algorithm`. */
  policy?: P
  /** A built-in policy of the service, such as `'TOKEN_BUCKET'` or `'token-bucket'`. An alternative to `policy`. */
  algorithm?: string
  /** The decision while the service is unavailable. `'local'` needs the policy's numbers. Default: the policy's, else `'open'`. */
  onStoreFailure?: OnStoreFailure
}

/** A limiter that calls a service: see `createRemoteLimiter`. */
export interface RemoteLimiter<P extends Policy | string = Policy | string>
  extends Pick<AsyncLimiter, 'refund' | 'reserve' | 'settle' | 'cancel'> {
  /** The policy, or its name if the option `policy` was a name. */
  readonly policy: P
  /** The service as a store, with a fallback. */
  readonly store: AsyncStore
  /** Decides a request, and takes `cost` units if it is allowed. Default cost: 1. */
  check(key: string, cost?: number): Promise<Decision>
  /** Returns the decision that `check` would make now, without taking units. */
  peek(key: string, cost?: number): Promise<Decision>
  /**
   * Acquires a slot of a concurrency policy, whose numbers must be in the option `policy`. The slot is renewed until it is
   * released.
   */
  acquire(key: string): Promise<Slot>
  /** Resets the key. Needs the admin token. */
  reset(key: string): Promise<void>
  /** Resolves once the service is available; rejects with `STORE_FAILED` and the reason if it is not. */
  ready(): Promise<void>
}

/**
 * Creates a limiter that calls a Tidegate service, which has the counts and the policies. The numbers of `policy` are used
 * only for headers, for slots, and to count in this process while the service is unavailable.
 *
 * @example
 * ```ts
 * const policy = fixedWindow({ limit: 100, window: '1m', name: 'per-user', onStoreFailure: 'local' })
 * const limiter = createRemoteLimiter({ url: 'http://127.0.0.1:8080', policy })
 * const { allowed } = await limiter.check('user:123')
 * ```
 */
export function createRemoteLimiter(
  options: RemoteLimiterOptions<Policy> & { policy: Policy },
): RemoteLimiter<Policy>
/**
 * Creates a limiter that calls a Tidegate service, for a policy that only the service has the numbers of.
 *
 * @example
 * ```ts
 * const limiter = createRemoteLimiter({ url: 'http://127.0.0.1:8080', policy: 'per-user' })
 * const { allowed } = await limiter.check('user:123')
 * ```
 */
export function createRemoteLimiter(options: RemoteLimiterOptions<string>): RemoteLimiter<string>
/** Creates a limiter that calls a Tidegate service, for a policy or its name. */
export function createRemoteLimiter(options: RemoteLimiterOptions): RemoteLimiter
export function createRemoteLimiter(options: RemoteLimiterOptions): RemoteLimiter {
  assertOptions('createRemoteLimiter()', options, OPTION_NAMES)
  const { policy: policyOption, algorithm, onStoreFailure, maxInFlight, onEvent, ...storeOptions } = options
  const { deadlineMs = DEADLINE_MS, connectTimeoutMs } = storeOptions
  const failure: FailureOptions = { deadlineMs }
  if (connectTimeoutMs !== undefined) failure.connectTimeoutMs = connectTimeoutMs
  if (maxInFlight !== undefined) failure.maxInFlight = maxInFlight
  if (onEvent !== undefined) failure.onEvent = onEvent
  const service = createRemoteStore({ ...storeOptions, deadlineMs })

  if (typeof policyOption === 'object' && algorithm === undefined) {
    assertPolicy(policyOption)
    const policy =
      onStoreFailure === undefined ? policyOption : definePolicy({ ...policyOption, onStoreFailure })
    return limiterOf(policy, withoutLease(policy), service, withFallback(service, failure))
  }
  const name = nameOf(policyOption, algorithm)
  const policy = policyWithoutNumbers(name, onStoreFailure)
  return limiterOf(
    name,
    policy,
    service,
    withoutNumbers(service, (store) => withFallback(store, failure)),
  )
}

const OPTION_NAMES = [
  ...REMOTE_STORE_OPTIONS,
  'policy',
  'algorithm',
  'onStoreFailure',
  'maxInFlight',
  'onEvent',
] as const satisfies (keyof RemoteLimiterOptions)[]

/** The built-in policies of the service, by the names of their algorithms in its API. */
const BUILT_IN: Readonly<Record<string, string>> = {
  TOKEN_BUCKET: 'token_bucket',
  SLIDING_WINDOW: 'sliding_window',
  SLIDING_WINDOW_LOG: 'sliding_window',
  SLIDING_WINDOW_COUNTER: 'sliding_window_counter',
  FIXED_WINDOW: 'fixed_window',
  LEAKY_BUCKET: 'leaky_bucket',
}

function limiterOf<P extends Policy | string>(
  visiblePolicy: P,
  policy: Policy,
  service: AsyncStore,
  store: ResilientStore,
): RemoteLimiter<P> {
  const { check, peek, refund, reserve, settle, cancel, acquire, reset } = createLimiter({ policy, store })
  return Object.freeze({
    policy: visiblePolicy,
    store,
    check,
    peek,
    refund,
    reserve,
    settle,
    cancel,
    async acquire(...args: [key: string]) {
      if (typeof visiblePolicy !== 'string') return acquire(...args)
      const message = `acquire needs the policy's ttl to renew the slot, got the name "${visiblePolicy}" only. Write the policy with its numbers, for example policy: concurrency({ limit: 10, ttl: '30s', name: '${visiblePolicy}' }).`
      throw optionInvalid('policy', message)
    },
    reset,
    async ready() {
      const { degraded } = await service.peek({ policy, key: 'ready', cost: 1 })
      if (degraded === undefined) return
      throw new TidegateError('STORE_FAILED', 'The service is available, but its own store is not.')
    },
  })
}

/** The policy without its lease: the service leases units, and its clients send every check. */
function withoutLease(policy: Policy): Policy {
  return policy.lease === undefined ? policy : definePolicy({ ...policy, lease: false })
}

function nameOf(policy: unknown, algorithm: unknown): string {
  if ((policy === undefined) === (algorithm === undefined)) {
    throw optionInvalid(
      'policy',
      `Exactly one of policy and algorithm is required, got policy: ${show(policy)} and algorithm: ${show(algorithm)}. Write for example policy: 'per-user'.`,
    )
  }
  if (typeof policy === 'string') return policy
  if (policy !== undefined) {
    throw optionInvalid(
      'policy',
      `policy must be a name such as 'per-user', or a policy made by tokenBucket(), …, got ${show(policy)}.`,
    )
  }
  const label = typeof algorithm === 'string' ? algorithm.toUpperCase().replaceAll('-', '_') : ''
  if (Object.hasOwn(BUILT_IN, label)) return BUILT_IN[label]!
  throw optionInvalid(
    'algorithm',
    `algorithm must be one of ${Object.keys(BUILT_IN).join(', ')}, got ${show(algorithm)}.`,
  )
}
