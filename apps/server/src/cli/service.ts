import { plain } from './terminal.js'

/** A running service, and how to be known there. */
export interface Service {
  readonly url: string
  readonly token: string | undefined
}

export interface Question {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** Sent as JSON with POST, as the query with the others. */
  readonly fields: Readonly<Record<string, string | number | undefined>>
}

export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  /** How a service whose store fails has answered. */
  readonly degraded: string | undefined
}

const PATIENCE_MS = 10_000

/** The service's answer, or why there is none. */
export async function ask(service: Service, question: Question): Promise<Answer | { problem: string }> {
  const { method, path, fields } = question
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  const url = new URL(service.url.replace(/\/+$/, '') + path)
  const headers = new Headers({ accept: 'application/json' })
  if (service.token !== undefined) headers.set('authorization', `Bearer ${service.token}`)
  if (method === 'POST') headers.set('content-type', 'application/json')
  else for (const [name, value] of given) url.searchParams.set(name, String(value))
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: method === 'POST' ? JSON.stringify(Object.fromEntries(given)) : null,
      // A token is for this address and no other.
      redirect: 'manual',
      signal: AbortSignal.timeout(PATIENCE_MS),
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
  return `What answers at ${url} is not Tidegate; check --url.`
}

/** What the service has to say of a failure. */
export function messageOf({ status, body }: Answer): string {
  const text = [body.message, body.detail, body.title, body.error].find((value) => typeof value === 'string')
  return plain(text ?? `status ${status}`).replace(/\.$/, '')
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
    return `The service at ${url} did not answer within ${PATIENCE_MS / 1000} seconds. Look at its log and its store.`
  }
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException
  const why = code === 'ECONNREFUSED' ? 'connection refused' : plain(code ?? message)
  return `No service answers at ${url} (${why}). Start one with npx tidegate start, or say where it is with --url.`
}
