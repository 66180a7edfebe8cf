import {
  assertOptions,
  assertPolicy,
  type Decision,
  definePolicy,
  type FailureOptions,
  type OnStoreFailure,
  type Policy,
  type Store,
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

export interface RemoteLimiterOptions<P extends Policy | string = Policy | string>
  extends RemoteStoreOptions,
    FailureOptions {
  /** A policy of the service: its name, or with the numbers that it has there. One of this and `algorithm`. */
  policy?: P
  /** A built-in policy of the service: `'TOKEN_BUCKET'`, or `'token-bucket'` as it is called here. */
  algorithm?: string
  /** What to answer when the service cannot; `'local'` needs the policy's numbers. Default: the policy's, `'open'`. */
  onStoreFailure?: OnStoreFailure
}

/** A limiter on a service. It has no `refund`: the service does not support it yet. */
export interface RemoteLimiter<P extends Policy | string = Policy | string> {
  /** The policy if it was given with its numbers, else its name. */
  readonly policy: P
  /** The service as a store, with its fallback. */
  readonly store: Store
  /** Decides, and takes `cost` units if allowed. */
  check(key: string, cost?: number): Promise<Decision>
  /** The decision that `check` would give now, with nothing taken. */
  peek(key: string, cost?: number): Promise<Decision>
  /** Resets the key; needs the admin token. */
  reset(key: string): Promise<void>
  /** Resolves once the service can decide; rejects with the reason if it cannot. */
  ready(): Promise<void>
}

/**
 * A limiter whose counts and policy belong to a service. Numbers given here are used only without the service: to
 * count while it fails, and in headers.
 */
export function createRemoteLimiter(
  options: RemoteLimiterOptions<Policy> & { policy: Policy },
): RemoteLimiter<Policy>
export function createRemoteLimiter(options: RemoteLimiterOptions<string>): RemoteLimiter<string>
export function createRemoteLimiter(options: RemoteLimiterOptions): RemoteLimiter
export function createRemoteLimiter(options: RemoteLimiterOptions): RemoteLimiter {
  assertOptions('createRemoteLimiter()', options, KNOWN)
  const { policy: given, algorithm, onStoreFailure, maxInFlight, onEvent, ...where } = options
  const { deadlineMs = DEADLINE_MS, connectTimeoutMs } = where
  const failure: FailureOptions = { deadlineMs }
  if (connectTimeoutMs !== undefined) failure.connectTimeoutMs = connectTimeoutMs
  if (maxInFlight !== undefined) failure.maxInFlight = maxInFlight
  if (onEvent !== undefined) failure.onEvent = onEvent
  const service = createRemoteStore({ ...where, deadlineMs })

  if (typeof given === 'object' && algorithm === undefined) {
    assertPolicy(given)
    const policy = onStoreFailure === undefined ? given : definePolicy({ ...given, onStoreFailure })
    return limiterOf(policy, policy, service, withFallback(service, failure))
  }
  const name = nameOf(given, algorithm)
  const policy = policyWithoutNumbers(name, onStoreFailure)
  return limiterOf(
    name,
    policy,
    service,
    withoutNumbers(service, (store) => withFallback(store, failure)),
  )
}

const KNOWN = [
  ...REMOTE_STORE_OPTIONS,
  'policy',
  'algorithm',
  'onStoreFailure',
  'maxInFlight',
  'onEvent',
] as const satisfies (keyof RemoteLimiterOptions)[]

/** A service's built-in policies, by the names of their algorithms in its API. */
const BUILT_IN: Readonly<Record<string, string>> = {
  TOKEN_BUCKET: 'token_bucket',
  SLIDING_WINDOW: 'sliding_window',
  SLIDING_WINDOW_LOG: 'sliding_window',
  SLIDING_WINDOW_COUNTER: 'sliding_window_counter',
  FIXED_WINDOW: 'fixed_window',
  LEAKY_BUCKET: 'leaky_bucket',
}

function limiterOf<P extends Policy | string>(
  shown: P,
  policy: Policy,
  service: Store,
  store: Store,
): RemoteLimiter<P> {
  return Object.freeze({
    policy: shown,
    store,
    check: async (key: string, cost = 1) => store.check({ policy, key, cost }),
    peek: async (key: string, cost = 1) => store.peek({ policy, key, cost }),
    reset: async (key: string) => store.reset({ policy, key }),
    async ready() {
      const { degraded } = await service.peek({ policy, key: 'ready', cost: 1 })
      if (degraded === undefined) return
      throw new TidegateError('STORE_FAILED', 'The service is up, but its own store is unavailable.')
    },
  })
}

function nameOf(policy: unknown, algorithm: unknown): string {
  if ((policy === undefined) === (algorithm === undefined)) {
    throw invalid('policy', "Give either policy or algorithm, for example policy: 'per-user'", policy)
  }
  if (typeof policy === 'string') return policy
  if (policy !== undefined) {
    throw invalid(
      'policy',
      "policy must be a name such as 'per-user', or a policy made by tokenBucket(), …",
      policy,
    )
  }
  const label = typeof algorithm === 'string' ? algorithm.toUpperCase().replaceAll('-', '_') : ''
  if (Object.hasOwn(BUILT_IN, label)) return BUILT_IN[label]!
  throw invalid('algorithm', `algorithm must be one of ${Object.keys(BUILT_IN).join(', ')}`, algorithm)
}

function invalid(field: string, what: string, got: unknown): TidegateError {
  return new TidegateError('OPTION_INVALID', `${what}, got ${show(got)}.`, { field })
}
