import {
  type AsyncStore,
  assertKey,
  assertOptions,
  assertPolicy,
  type Decision,
  type Limits,
  limitsOf,
  show,
  storeClosed,
  type TakeRequest,
  type TakeResult,
  TidegateError,
} from '@tidegate/core'
import { createCallGate } from './call-gate.js'
import { CHECK, checkOf, createCheckBatcher } from './check-batcher.js'
import { assertFetch, type Fetch } from './fetch.js'
import { numberOption } from './option-number.js'
import { type Answer, createService, failed, parseToken, parseUrl } from './service.js'
import { type Asked, closedBody, decisionOf, errorOf, isClosed, oneBody } from './service-answer.js'

export interface RemoteStoreOptions {
  /** Where the service is, such as `http://127.0.0.1:8080`. Required. */
  url: string | URL
  /** A caller's token, for check and peek. Default: none. */
  token?: string | undefined
  /** The admin token, for reset. Default: `token`. */
  adminToken?: string | undefined
  /** How long a check may take, in milliseconds: more than the service gives its own store. Default: 100. */
  deadlineMs?: number
  /** How long it may take until the service has answered for the first time. Default: 1000. */
  connectTimeoutMs?: number
  /** What calls the service; connections are its own. Default: `globalThis.fetch`. */
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

/**
 * The service as a store. The service decides by the policy of the same name in its own configuration. It cannot refund
 * yet: `refund` rejects with `REFUND_INVALID`.
 */
export function createRemoteStore(options: RemoteStoreOptions): AsyncStore {
  assertOptions('createRemoteStore()', options, REMOTE_STORE_OPTIONS)
  const { fetch, deadlineMs, connectTimeoutMs, ...where } = parse(options)
  let isOpen = true
  const maxWaitMs = Math.max(connectTimeoutMs, deadlineMs)
  const { ask, silentMs } = createService({ ...where, fetch, abortAfterMs: maxWaitMs })
  const batcher = createCheckBatcher({ ask, maxWaitMs, timeMs: Date.now })
  const gate = createCallGate(MAX_CALLS, maxWaitMs)

  function assertOpen(): void {
    if (!isOpen) throw storeClosed()
  }

  return {
    traits: { silentMs },

    async check(request, call) {
      assertOpen()
      return batcher.check(assertAsked(request), call)
    },

    async take(requests, call) {
      assertOpen()
      const asked = limitsOf(requests)
      for (const { key } of asked.limits) assertKey(key)
      const json = { checks: asked.limits.map(checkOf), atomic: true }
      const answer = await gate(call, () => ask({ method: 'POST', path: `${CHECK}/batch`, json }))
      return takeOf(asked, answer)
    },

    async peek(request, call) {
      assertOpen()
      const asked = assertAsked(request)
      const { key, policy, cost } = asked
      const query = { key, policy: policy.name, permits: String(cost) }
      const answer = await gate(call, () =>
        ask({ method: 'GET', path: '/api/v1/rate-limit/remaining', query }),
      )
      if (answer.status !== 200) throw errorOf(answer)
      return decisionOf(oneBody(answer), asked, Date.now(), false)
    },

    async refund() {
      assertOpen()
      const message = 'The service cannot refund a check. Leave the refund out.'
      throw new TidegateError('REFUND_INVALID', message)
    },

    async reset({ policy, key }, call) {
      assertOpen()
      assertPolicy(policy)
      assertKey(key)
      const query = { key, policy: policy.name }
      const path = '/api/v1/rate-limit/reset'
      const answer = await gate(call, () => ask({ method: 'DELETE', path, query, isAdmin: true }))
      if (answer.status !== 200) throw errorOf(answer)
    },

    close() {
      isOpen = false
    },
  }
}

export const DEADLINE_MS = 100

/** Calls other than checks, which have a bound of their own. */
const MAX_CALLS = 16

/** Costs above the limit are for the service to reject: the limit known here may be outdated. */
function assertAsked(request: TakeRequest): Asked {
  const { policy, key, cost } = request
  assertPolicy(policy)
  assertKey(key)
  if (Number.isSafeInteger(cost) && cost >= 1) return request
  const message = `The cost must be a whole number from 1 up, got ${show(cost)}.`
  throw new TidegateError('COST_INVALID', message, { field: 'cost' })
}

function takeOf({ limits, limitOfRequest, costs }: Limits, answer: Answer): TakeResult {
  const { status, body } = answer
  const isRefused = isClosed(answer) || (status === 429 && 'results' in body)
  if (status === 413)
    throw new TidegateError('TAKE_INVALID', 'The take is too long for the service; split it.')
  if (status !== 200 && !isRefused) throw errorOf(answer)
  const results = isClosed(answer) ? limits.map((asked) => closedBody(answer, asked)) : body.results
  if (!Array.isArray(results) || results.length !== limits.length)
    throw failed('its response is not a take result')
  const nowMs = Date.now()
  const decisions = results.map((result, i) => {
    return isUnasked(result) ? undefined : decisionOf(result, limits[i]!, nowMs, !isRefused)
  })
  const known = decisions.filter((decision) => decision !== undefined)
  return {
    allowed: !isRefused,
    decisions: costs.map((cost, i) => withCost(decisions[limitOfRequest[i]!], cost)),
    retryAfterMs: isRefused ? Math.max(0, ...known.map((decision) => decision.retryAfterMs)) : 0,
    delayMs: isRefused ? 0 : Math.max(0, ...known.map((decision) => decision.delayMs)),
  }
}

/** A limit that was not looked at, because another had denied the take, has no numbers. */
function isUnasked(result: { remaining?: unknown; degraded?: unknown }): boolean {
  return result?.remaining === undefined && result?.degraded === undefined
}

function withCost(decision: Decision | undefined, cost: number): Decision | undefined {
  return decision && { ...decision, cost }
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
