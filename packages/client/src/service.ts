import { show, TidegateError } from '@tidegate/core'
import type { Fetch } from './fetch.js'

/** One call of the service's API. */
interface Question {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly json?: object
  /** Whether it is for administrators. */
  readonly isAdmin?: boolean
}

/** Whatever the service said, in JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

/** Rejects with `STORE_FAILED` if there is no answer, or none that Tidegate would give. */
export type Ask = (question: Question) => Promise<Answer>

export interface ServiceOptions {
  url: string
  token: string | undefined
  adminToken: string | undefined
  fetch: Fetch
  /** How long to wait for an answer, in milliseconds. */
  patienceMs: () => number
  /** Told of each answer, whatever it says. */
  onAnswer: () => void
}

export function createService(options: ServiceOptions): Ask {
  const { url, token, adminToken, fetch, patienceMs, onAnswer } = options

  function init({ method, json, isAdmin }: Question, signal: AbortSignal): RequestInit {
    const headers: Record<string, string> = { accept: 'application/json' }
    const bearer = isAdmin ? (adminToken ?? token) : token
    if (bearer !== undefined) headers.authorization = `Bearer ${bearer}`
    if (json !== undefined) headers['content-type'] = 'application/json'
    return {
      method,
      headers,
      signal,
      // A token is for this address and no other, and a check is sent once.
      redirect: 'manual',
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    }
  }

  return async (question) => {
    const query = question.query === undefined ? '' : `?${new URLSearchParams(question.query)}`
    const { signal, clear } = signalAfter(patienceMs())
    try {
      const response = await fetch(`${url}${question.path}${query}`, init(question, signal))
      const body = bodyOf(await textOf(response))
      if (body === undefined)
        throw failed(`what answers at ${url} is not Tidegate (status ${response.status})`)
      onAnswer()
      return { status: response.status, headers: response.headers, body }
    } catch (error) {
      if (error instanceof TidegateError) throw error
      const { message, cause } = error as Error
      const why = signal.aborted ? 'no answer in time' : cause instanceof Error ? cause.message : message
      throw failed(`${url}: ${why}`, error)
    } finally {
      clear()
    }
  }
}

export function failed(why: string, cause?: unknown): TidegateError {
  return new TidegateError('STORE_FAILED', `The service could not answer: ${why}.`, { cause })
}

/** The address without a slash at its end; refuses what is none. */
export function parseUrl(value: unknown): string {
  const text = value instanceof URL ? value.href : value
  if (typeof text === 'string' && /^https?:\/\/[^@?#]+$/i.test(text) && URL.canParse(text)) {
    return text.replace(/\/+$/, '')
  }
  const message = `url must be like 'http://127.0.0.1:8080', without a user, a query or a fragment, got ${show(text)}.`
  throw new TidegateError('OPTION_INVALID', message, { field: 'url' })
}

export function parseToken(field: string, value: unknown): string | undefined {
  if (value === undefined || (typeof value === 'string' && /^[!-~]+$/.test(value))) return value
  // Not what it is: it may be a token with a line break at its end.
  const message = `${field} must be visible ASCII characters without spaces, got a ${typeof value} that is not.`
  throw new TidegateError('OPTION_INVALID', message, { field })
}

/**
 * Aborts some time after the patience is over. By then nobody waits for the answer; it is only to let go of the
 * connection. In between a busy event loop has its chance to read what has arrived.
 */
function signalAfter(ms: number): { signal: AbortSignal; clear: () => void } {
  const controller = new AbortController()
  let timer = setTimeout(() => {
    timer = setTimeout(() => controller.abort(), GRACE_MS)
  }, ms)
  return { signal: controller.signal, clear: () => clearTimeout(timer) }
}

const GRACE_MS = 20

/** What Tidegate answers is far shorter, and says how long it is. Something else may never end. */
async function textOf(response: Response): Promise<string> {
  const length = response.headers.get('content-length')
  if (length !== null && Number(length) <= MAX_ANSWER_BYTES) return response.text()
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    // To leave the loop lets go of the connection.
    if (bytes > MAX_ANSWER_BYTES) return ''
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

const MAX_ANSWER_BYTES = 4 * 1024 * 1024

function bodyOf(text: string): Record<string, unknown> | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null && !Array.isArray(body)
      ? (body as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
