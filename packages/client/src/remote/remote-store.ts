import {
  type AsyncStore,
  assertKey,
  assertOptions,
  assertPolicy,
  assertRefund,
  type Decision,
  type FullStore,
  type Limits,
  limitsOf,
  numberOption,
  type Policy,
  randomId,
  show,
  storeClosed,
  type TakeRequest,
  type TakeResult,
  TidegateError,
  takeResult,
} from '@tidegate/core'
import { assertFetch, type Fetch } from '../fetch.js'
import { createCallGate } from './call-gate.js'
import { CHECK, checkOf, createCheckBatcher } from './check-batcher.js'
import { createOperations } from './operations.js'
import { createRemoteReservations } from './remote-reservations.js'
import { createRemoteSlots } from './remote-slots.js'
import { createService, failed, parseToken, parseUrl, type ServiceResponse } from './service.js'
import {
  closedBody,
  decisionOf,
  errorOf,
  isAmount,
  isClosed,
  NOT_REFUNDABLE_MS,
  oneBody,
} from './service-response.js'

/** Options of `createRemoteStore`. */
export interface RemoteStoreOptions {
  /** The URL of the service, such as `http://127.0.0.1:8080`. Required. */
  url: string | URL
  /** A caller's token. Default: none. */
  token?: string | undefined
  /** The admin token, for `reset`. Default: `token`. */
  adminToken?: string | undefined
  /** The timeout of a check, in milliseconds. Must exceed the service's timeout for its own store. Default: 100. */
  deadlineMs?: number
  /** The timeout of a check until the first response of the service, in milliseconds. Default: 1000. */
  connectTimeoutMs?: number
  /** The `fetch` to call the service with. Default: `globalThis.fetch`. */
  fetch?: Fetch
}

export const REMOTE_STORE_OPTIONS = [
  'url',
  'token',
  'adminToken',
  'deadlineMs',
  'connectTimeoutMs',
  'fetch',
] as const satisfies (keyof RemoteStoreOptions)[]

/** A store that calls a service: see `createRemoteStore`. */
export interface RemoteStore
  extends AsyncStore,
    Pick<FullStore, 'reserve' | 'settle' | 'release' | 'renew'> {}

/**
 * Creates a store that calls a Tidegate service. The service decides by the policy of the same name in its configuration. A
 * slot cannot be taken together with other limits, and a reservation has one limit. For a single policy, use
 * `createRemoteLimiter`.
 *
 * @example
 * ```ts
 * const store = createRemoteStore({ url: 'http://127.0.0.1:8080' })
 * const limiter = createLimiter({ store, policy: fixedWindow({ limit: 100, window: '1m', name: 'per-user' }) })
 * ```
 */
export function createRemoteStore(options: RemoteStoreOptions): RemoteStore {
  assertOptions('createRemoteStore()', options, REMOTE_STORE_OPTIONS)
  const { fetch, deadlineMs, connectTimeoutMs, ...connectOptions } = parse(options)
  let isOpen = true
  const maxWaitMs = Math.max(connectTimeoutMs, deadlineMs)
  const { sendRequest, silentMs } = createService({ ...connectOptions, fetch, abortAfterMs: maxWaitMs })
  const batcher = createCheckBatcher({ sendRequest, maxWaitMs, timeMs: Date.now })
  const gate = createCallGate(MAX_CALLS, maxWaitMs)
  const operate = createOperations(gate, sendRequest)
  const { acquire, ...slots } = createRemoteSlots(operate, assertOpen)

  function assertOpen(): void {
    if (!isOpen) throw storeClosed()
  }

  return {
    traits: { silentMs },

    async check(request, call) {
      assertOpen()
      const checked = assertRequest(request)
      return isSlot(checked) ? acquire(withId(checked), call) : batcher.check(checked, call)
    },

    async take(requests, call) {
      assertOpen()
      const take = limitsOf(requests)
      for (const { key } of take.limits) assertKey(key)
      if (take.limits.some(isSlot)) return acquireAlone(take, (slot) => acquire(slot, call))
      const json = { checks: take.limits.map(checkOf), atomic: true }
      const response = await gate(call, () => sendRequest({ method: 'POST', path: `${CHECK}/batch`, json }))
      return takeResultOf(take, response)
    },

    async peek(request, call) {
      assertOpen()
      const { key, policy, cost } = assertRequest(request)
      const query = { key, policy: policy.name, permits: String(cost) }
      const response = await gate(call, () =>
        sendRequest({ method: 'GET', path: '/api/v1/rate-limit/remaining', query }),
      )
      if (response.status !== 200) throw errorOf(response)
      return decisionOf(oneBody(response), request, Date.now(), false)
    },

    /** Sent once, because a repeated refund would give units back twice. */
    async refund(request, call) {
      assertOpen()
      assertRefund(request)
      const { policy, key, timeMs, cost, leasedAtMs } = request
      if (leasedAtMs === NOT_REFUNDABLE_MS) return 0
      const response = await operate('refund', { key, policy: policy.name, permits: cost, timeMs }, call)
      if (response.status !== 200) throw errorOf(response)
      const { refunded } = response.body
      if (!isAmount(refunded)) throw failed('its response is not a refund')
      return refunded
    },

    ...createRemoteReservations(operate, assertOpen),
    ...slots,

    async reset({ policy, key }, call) {
      assertOpen()
      assertPolicy(policy)
      assertKey(key)
      const query = { key, policy: policy.name }
      const path = '/api/v1/rate-limit/reset'
      const response = await gate(call, () => sendRequest({ method: 'DELETE', path, query, isAdmin: true }))
      if (response.status !== 200) throw errorOf(response)
    },

    close() {
      isOpen = false
    },
  }
}

export const DEADLINE_MS = 100

/** The maximum number of calls in flight, except for checks, which the batcher bounds. */
const MAX_CALLS = 16

/** Validates a request, except for costs above the limit: the service rejects them, because only it has the limit. */
function assertRequest(request: TakeRequest): TakeRequest {
  const { policy, key, cost } = request
  assertPolicy(policy)
  assertKey(key)
  if (Number.isSafeInteger(cost) && cost >= 1) return request
  const message = `cost must be a whole number of at least 1, got ${show(cost)}. Write for example cost: 1.`
  throw new TidegateError('COST_INVALID', message, { field: 'cost' })
}

function isSlot({ policy }: { readonly policy: Policy }): boolean {
  return policy.algorithm === 'concurrency'
}

function withId(request: TakeRequest): TakeRequest & { id: string } {
  return { ...request, id: request.id ?? randomId() }
}

/** The result of a take of one slot: the service cannot take a slot together with other limits. */
async function acquireAlone(
  { limits, costs }: Limits,
  acquire: (slot: TakeRequest & { id: string }) => Promise<Decision>,
): Promise<TakeResult> {
  const [limit] = limits
  if (limits.length > 1) {
    const message = `The service cannot take a slot together with other limits, got ${limits.length} limits. Acquire the slot separately.`
    throw new TidegateError('OPERATION_UNSUPPORTED', message, { field: 'requests' })
  }
  const { policy, key, id = randomId() } = limit!
  const decision = await acquire({ policy, key, cost: 1, id })
  const { allowed, retryAfterMs } = decision
  return { allowed, decisions: costs.map(() => decision), retryAfterMs, delayMs: 0 }
}

function takeResultOf(take: Limits, response: ServiceResponse): TakeResult {
  const { limits } = take
  const { status, body } = response
  const isDenied = isClosed(response) || (status === 429 && 'results' in body)
  if (status === 413)
    throw new TidegateError(
      'TAKE_INVALID',
      `The take is too large for the service, got ${limits.length} limits. Split it.`,
    )
  if (status !== 200 && !isDenied) throw errorOf(response)
  const results = isClosed(response) ? limits.map((request) => closedBody(response, request)) : body.results
  if (!Array.isArray(results) || results.length !== limits.length)
    throw failed('its response is not a take result')
  const nowMs = Date.now()
  const decisions = results.map((result, i) => {
    return isSkipped(result) ? undefined : decisionOf(result, limits[i]!, nowMs, !isDenied)
  })
  return takeResult(take, decisions, !isDenied)
}

/** A limit that was not checked, because another one denied the take, has no numbers. */
function isSkipped(result: { remaining?: unknown; degraded?: unknown }): boolean {
  return result?.remaining === undefined && result?.degraded === undefined
}

function parse(options: RemoteStoreOptions) {
  const { fetch = globalThis.fetch } = options
  const ms = { from: 1, to: 60_000, isWhole: true }
  assertFetch(fetch, 'createRemoteStore({ url, fetch: globalThis.fetch })')
  return {
    url: parseUrl(options.url),
    token: parseToken('token', options.token),
    adminToken: parseToken('adminToken', options.adminToken),
    deadlineMs: numberOption('deadlineMs', options.deadlineMs, { ...ms, otherwise: DEADLINE_MS }),
    connectTimeoutMs: numberOption('connectTimeoutMs', options.connectTimeoutMs, { ...ms, otherwise: 1000 }),
    fetch,
  }
}
