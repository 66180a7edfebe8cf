import { escapeControls } from '../log/escape-controls.js'

/** A running service, and the token to send. */
export interface ServiceAddress {
  readonly url: string
  readonly token: string | undefined
}

export interface ServiceRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** Sent as JSON with POST, as the query with the others. */
  readonly fields: Readonly<Record<string, string | number | undefined>>
}

export interface ServiceResponse {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  /** The fallback that decided, if the store of the service is unavailable. */
  readonly degraded: string | undefined
}

const TIMEOUT_MS = 10_000

/** Sends a request. Resolves to the response, or to the problem if there is none. */
export async function sendRequest(
  service: ServiceAddress,
  request: ServiceRequest,
): Promise<ServiceResponse | { problem: string }> {
  const { method, path, fields } = request
  const set = Object.entries(fields).filter(([, value]) => value !== undefined)
  const url = new URL(service.url.replace(/\/+$/, '') + path)
  const headers = new Headers({ accept: 'application/json' })
  if (service.token !== undefined) headers.set('authorization', `Bearer ${service.token}`)
  if (method === 'POST') headers.set('content-type', 'application/json')
  else for (const [name, value] of set) url.searchParams.set(name, String(value))
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: method === 'POST' ? JSON.stringify(Object.fromEntries(set)) : null,
      // The token must not be sent to another address.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const body = parse(await response.text(), response.status)
    if (body === undefined) return { problem: notTidegate(service.url) }
    return {
      status: response.status,
      body,
      degraded: response.headers.get('x-ratelimit-degraded') ?? undefined,
    }
  } catch (error) {
    return { problem: unreachable(service.url, error as Error) }
  }
}

export function notTidegate(url: string): string {
  return `The server at ${url} is not Tidegate; check --url.`
}

/** The error message of a response. */
export function errorMessageOf({ status, body }: ServiceResponse): string {
  const text = [body.message, body.detail, body.title, body.error].find((value) => typeof value === 'string')
  return escapeControls(text ?? `status ${status}`).replace(/\.$/, '')
}

function parse(text: string, status: number): Record<string, unknown> | undefined {
  if (text === '' && status === 204) return {}
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body } : undefined
  } catch {
    return undefined
  }
}

function unreachable(url: string, error: Error): string {
  if (error.name === 'TimeoutError') {
    return `The service at ${url} did not respond within ${TIMEOUT_MS / 1000} seconds; check its log and its store.`
  }
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException
  const reason = code === 'ECONNREFUSED' ? 'connection refused' : escapeControls(code ?? message)
  return `No service is reachable at ${url} (${reason}). Start one with npx tidegate start, or pass its address as --url.`
}
