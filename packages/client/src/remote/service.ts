import { eventLoopTime, optionInvalid, show, storeFailed, TidegateError } from '@tidegate/core'
import type { Fetch } from '../fetch.js'

/** A request to the service's API. */
interface ServiceRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly json?: object
  /** Whether it needs the admin token. */
  readonly isAdmin?: boolean
}

/** A JSON response of the service. */
export interface ServiceResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

export type SendRequest = (request: ServiceRequest) => Promise<ServiceResponse>

export interface ServiceOptions {
  url: string
  token: string | undefined
  adminToken: string | undefined
  fetch: Fetch
  /** After how many milliseconds a call without a response is aborted. */
  abortAfterMs: number
}

export interface Service {
  /** Sends a request. Rejects with `STORE_FAILED` if there is no response, or it is not from Tidegate. */
  sendRequest: SendRequest
  /** The age of the oldest unanswered request, in event-loop time; 0 if there is none. */
  silentMs(): number
}

export function createService(options: ServiceOptions): Service {
  const { url, token, adminToken, fetch, abortAfterMs } = options
  const loop = eventLoopTime(() => performance.now())
  /** When each unanswered call was sent, oldest first. */
  const onWire = new Set<{ readonly sentMs: number }>()

  function init({ method, json, isAdmin }: ServiceRequest, signal: AbortSignal): RequestInit {
    const headers: Record<string, string> = { accept: 'application/json' }
    const bearer = isAdmin ? (adminToken ?? token) : token
    if (bearer !== undefined) headers.authorization = `Bearer ${bearer}`
    if (json !== undefined) headers['content-type'] = 'application/json'
    return {
      method,
      headers,
      signal,
      // Never follow redirects: the token is for this address only, and a check must be sent once.
      redirect: 'manual',
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    }
  }

  async function sendRequest(request: ServiceRequest): Promise<ServiceResponse> {
    const query = request.query === undefined ? '' : `?${new URLSearchParams(request.query)}`
    const { signal, clear } = signalAfter(abortAfterMs)
    const call = { sentMs: loop.now() }
    onWire.add(call)
    try {
      const response = await fetch(`${url}${request.path}${query}`, init(request, signal))
      const body = bodyOf(await textOf(response))
      if (body === undefined)
        throw failed(
          `the server at ${url} is not a Tidegate service (status ${response.status}). Check the option url`,
        )
      return { status: response.status, headers: response.headers, body }
    } catch (error) {
      if (error instanceof TidegateError) throw error
      if (signal.aborted) throw storeFailed('timeout', `The service at ${url} did not respond in time.`)
      const { message, cause } = error as Error
      const { code } = (cause ?? {}) as { code?: string }
      const reason = cause instanceof Error ? cause.message || code : message
      if (code !== undefined && NOT_CONNECTED.includes(code))
        throw storeFailed('unreachable', `The service at ${url} is unreachable: ${reason}.`)
      throw failed(`no response from ${url}: ${reason}`, error)
    } finally {
      onWire.delete(call)
      clear()
    }
  }

  return {
    sendRequest,
    silentMs() {
      for (const { sentMs } of onWire) return loop.now() - sentMs
      return 0
    },
  }
}

/** Errors without a connection: the request was not sent. After any other error it may have been executed. */
const NOT_CONNECTED = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]

export function failed(why: string, cause?: unknown): TidegateError {
  return new TidegateError('STORE_FAILED', `The call to the service failed: ${why.replace(/\.$/, '')}.`, {
    cause,
  })
}

/** The address without a trailing slash; throws if it is not valid. */
export function parseUrl(value: unknown): string {
  const text = value instanceof URL ? value.href : value
  if (typeof text === 'string' && /^https?:\/\/[^@?#]+$/i.test(text) && URL.canParse(text)) {
    return text.replace(/\/+$/, '')
  }
  const message = `url must be an HTTP URL without user, query and fragment, got ${show(text)}. Write for example 'http://127.0.0.1:8080'.`
  throw optionInvalid('url', message)
}

export function parseToken(field: string, value: unknown): string | undefined {
  if (value === undefined || (typeof value === 'string' && /^[!-~]+$/.test(value))) return value
  // Without the value, which may be a token with a line break at its end.
  const received =
    typeof value === 'string' ? 'a string with other characters' : `a value of the type ${typeof value}`
  const message = `${field} must be a string of visible ASCII characters without spaces, got ${value === '' ? 'an empty string' : received}. Check for a line break at its end.`
  throw optionInvalid(field, message)
}

/** Aborts after a time and a grace period, in which a busy event loop can read a response that has arrived. */
function signalAfter(ms: number): { signal: AbortSignal; clear: () => void } {
  const controller = new AbortController()
  let timer = setTimeout(() => {
    timer = setTimeout(() => controller.abort(), GRACE_MS)
  }, ms)
  return { signal: controller.signal, clear: () => clearTimeout(timer) }
}

const GRACE_MS = 20

/** Responses of Tidegate are far shorter and announce their length. Other responses may never end. */
async function textOf(response: Response): Promise<string> {
  const length = response.headers.get('content-length')
  if (length !== null && Number(length) <= MAX_RESPONSE_BYTES) return response.text()
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    // Leaving the loop closes the connection.
    if (bytes > MAX_RESPONSE_BYTES) return ''
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

const MAX_RESPONSE_BYTES = 4 * 1024 * 1024

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
