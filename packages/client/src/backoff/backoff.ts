import { assertFetch, callOf, type Fetch, type FetchCall } from '../fetch.js'
import {
  type BackoffOptions,
  type BackoffSettings,
  type BackoffWait,
  parseBackoff,
} from './backoff-options.js'
import { createPace } from './pace.js'
import { exhaustedForMs, type Quota, quotasOf } from './quota.js'
import { retryAfterMs } from './retry-after.js'

/**
 * Wraps `fetch` so that it retries with exponential backoff. A wait is the time that the server requested, if any, plus a
 * random time whose maximum doubles with each attempt ("full jitter"), so that clients that were denied together do not
 * retry together.
 *
 * @example
 * ```ts
 * const fetchWithBackoff = withBackoff(fetch, { maxAttempts: 3 })
 * const response = await fetchWithBackoff('https://api.example.com/items')
 * ```
 */
export function withBackoff(fetch: Fetch = globalThis.fetch, options: BackoffOptions = {}): Fetch {
  assertFetch(fetch, 'withBackoff(fetch, { maxAttempts: 3 })')
  const settings = parseBackoff(options)
  const { now, random, onWait, wait, maxTotalWaitMs } = settings
  const pace = settings.pace ? createPace(() => random() * settings.firstBackoffMs) : undefined

  return async (input, init) => {
    const call = callOf(input, init)
    const { origin } = new URL(call.url)
    const maxAttempts = isRetryable(call, settings) ? settings.maxAttempts : 1
    let waitedMs = 0

    async function pause(details: Omit<BackoffWait, 'method' | 'url'>): Promise<void> {
      waitedMs += details.waitMs
      onWait({ ...details, method: call.method, url: call.url })
      await wait(details.waitMs, call.signal)
    }

    async function send(attempts: number): Promise<Outcome> {
      const waitMs = pace?.enter(origin, now(), maxTotalWaitMs - waitedMs) ?? 0
      let outcome: Outcome = { quotas: [] }
      try {
        if (waitMs > 0) await pause({ reason: 'pace', waitMs, attempts })
        outcome = await fetch(input, init).then((response) => read(response, now()), failed)
        return outcome
      } finally {
        pace?.leave(origin, now(), outcome.quotas)
      }
    }

    function failed(error: unknown): Outcome {
      if (call.signal?.aborted) throw error
      return { error, quotas: [] }
    }

    for (let attempts = 1; ; attempts++) {
      const outcome = await send(attempts - 1)
      const bounds = attempts < maxAttempts ? waitAfter(outcome, attempts, settings) : undefined
      // Compares the longest possible wait, so that giving up is not random.
      if (bounds === undefined || waitedMs + bounds.mostMs > maxTotalWaitMs) return responseOrThrow(outcome)
      discardBody(outcome.response)
      const { response, error, requestedMs } = outcome
      await pause({
        ...(response === undefined
          ? { reason: 'no-response', error }
          : { reason: 'status', status: response.status }),
        waitMs: bounds.leastMs + random() * (bounds.mostMs - bounds.leastMs),
        ...(requestedMs === undefined ? {} : { requestedMs }),
        attempts,
      })
    }
  }
}

/** The result of one attempt: a response or an error. */
interface Outcome {
  response?: Response
  error?: unknown
  requestedMs?: number | undefined
  quotas: readonly Quota[]
}

/** Bodies up to this size are read to the end, so that the connection can be reused. */
const MAX_READ_BYTES = 65_536

function isRetryable(
  { url, method, headers, hasRepeatableBody }: FetchCall,
  { methods }: BackoffSettings,
): boolean {
  // Other schemes, such as a misspelt `htpp:`, fail every time.
  if (!/^https?:/.test(url)) return false
  return hasRepeatableBody && (methods.includes(method) || headers.has('idempotency-key'))
}

function read(response: Response, nowMs: number): Outcome {
  const { headers, status } = response
  const quotas = quotasOf(headers, nowMs)
  const isDenied = status === 429
  const requestedMs = retryAfterMs(headers, nowMs) ?? (isDenied ? exhaustedForMs(quotas) : undefined)
  if (!isDenied || requestedMs === undefined || exhaustedForMs(quotas) !== undefined) {
    return { response, requestedMs, quotas }
  }
  const exhaustedQuota = { limit: undefined, remaining: 0, resetAfterMs: requestedMs, windowMs: undefined }
  return { response, requestedMs, quotas: [exhaustedQuota] }
}

/** The bounds of the wait before the next attempt; undefined if the call must not be retried. */
function waitAfter(
  { response, requestedMs = 0 }: Outcome,
  attempts: number,
  { statuses, maxRetryAfterMs, firstBackoffMs, maxBackoffMs }: BackoffSettings,
): { leastMs: number; mostMs: number } | undefined {
  if (response !== undefined && !statuses.includes(response.status)) return undefined
  if (requestedMs > maxRetryAfterMs) return undefined
  const randomMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (attempts - 1))
  return { leastMs: requestedMs, mostMs: requestedMs + randomMs }
}

function responseOrThrow({ response, error }: Outcome): Response {
  if (response === undefined) throw error
  return response
}

/** Releases the connection of a discarded response. */
function discardBody(response: Response | undefined): void {
  if (!response?.body) return
  const bytes = Number(response.headers.get('content-length') ?? Number.NaN)
  const ended: Promise<unknown> = bytes <= MAX_READ_BYTES ? response.arrayBuffer() : response.body.cancel()
  ended.catch(() => {})
}
