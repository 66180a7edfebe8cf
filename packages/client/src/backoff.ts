import {
  type BackoffOptions,
  type BackoffSettings,
  type BackoffWait,
  parseBackoff,
} from './backoff-options.js'
import { assertFetch, type Call, callOf, type Fetch } from './fetch.js'
import { createPace } from './pace.js'
import { exhaustedForMs, type Quota, quotasOf } from './quota.js'
import { retryAfterMs } from './retry-after.js'

/**
 * A `fetch` that waits when it is told to, and tries again. A wait has two parts: all of what the server asks
 * for, and on top of it a random part whose bound doubles with every attempt ("full jitter"), so that clients
 * that were refused together do not come back together. Where the server asks for nothing, the second is all.
 */
export function withBackoff(fetch: Fetch = globalThis.fetch, options: BackoffOptions = {}): Fetch {
  assertFetch(fetch, 'withBackoff(fetch, { maxAttempts: 3 })')
  const settings = parseBackoff(options)
  const { now, random, onWait, wait, maxTotalWaitMs } = settings
  const pace = settings.pace ? createPace(() => random() * settings.firstBackoffMs) : undefined

  return async (input, init) => {
    const call = callOf(input, init)
    const { origin } = new URL(call.url)
    const maxAttempts = isRepeatable(call, settings) ? settings.maxAttempts : 1
    let waitedMs = 0

    async function pause(why: Omit<BackoffWait, 'method' | 'url'>): Promise<void> {
      waitedMs += why.waitMs
      onWait({ ...why, method: call.method, url: call.url })
      await wait(why.waitMs, call.signal)
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
      // Not begun if it might last too long: whether a call is given up should be no matter of chance.
      if (bounds === undefined || waitedMs + bounds.mostMs > maxTotalWaitMs) return answer(outcome)
      letGo(outcome.response)
      const { response, error, askedForMs } = outcome
      await pause({
        ...(response === undefined
          ? { reason: 'no-answer', error }
          : { reason: 'status', status: response.status }),
        waitMs: bounds.leastMs + random() * (bounds.mostMs - bounds.leastMs),
        ...(askedForMs === undefined ? {} : { askedForMs }),
        attempts,
      })
    }
  }
}

/** What came of one sending: an answer, or why there is none. */
interface Outcome {
  response?: Response
  error?: unknown
  askedForMs?: number | undefined
  quotas: readonly Quota[]
}

/** Bodies up to this are read to the end, so that their connection can be used again. */
const MAX_READ_BYTES = 65_536

function isRepeatable({ url, method, headers, hasLastingBody }: Call, { methods }: BackoffSettings): boolean {
  // What is no HTTP goes over no network: `ftp:` and a misspelt `htpp:` are wrong the next time too.
  if (!/^https?:/.test(url)) return false
  return hasLastingBody && (methods.includes(method) || headers.has('idempotency-key'))
}

function read(response: Response, nowMs: number): Outcome {
  const { headers, status } = response
  const quotas = quotasOf(headers, nowMs)
  const isRefused = status === 429
  const askedForMs = retryAfterMs(headers, nowMs) ?? (isRefused ? exhaustedForMs(quotas) : undefined)
  if (!isRefused || askedForMs === undefined || exhaustedForMs(quotas) !== undefined) {
    return { response, askedForMs, quotas }
  }
  const nothingLeft = { limit: undefined, remaining: 0, resetAfterMs: askedForMs, windowMs: undefined }
  return { response, askedForMs, quotas: [nothingLeft] }
}

/** The bounds of the wait before the next sending; undefined if there should be none. */
function waitAfter(
  { response, askedForMs = 0 }: Outcome,
  attempts: number,
  { statuses, maxRetryAfterMs, firstBackoffMs, maxBackoffMs }: BackoffSettings,
): { leastMs: number; mostMs: number } | undefined {
  if (response !== undefined && !statuses.includes(response.status)) return undefined
  if (askedForMs > maxRetryAfterMs) return undefined
  const randomMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (attempts - 1))
  return { leastMs: askedForMs, mostMs: askedForMs + randomMs }
}

function answer({ response, error }: Outcome): Response {
  if (response === undefined) throw error
  return response
}

/** Nobody will read this answer. A body that is not let go of holds its connection. */
function letGo(response: Response | undefined): void {
  if (!response?.body) return
  const bytes = Number(response.headers.get('content-length') ?? Number.NaN)
  const ended: Promise<unknown> = bytes <= MAX_READ_BYTES ? response.arrayBuffer() : response.body.cancel()
  ended.catch(() => {})
}
