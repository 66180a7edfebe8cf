import { pino } from 'pino'
import { loadConfig } from '../src/config/load.js'
import { type RunningService, serve } from '../src/run/serve.js'

/** A service in this process, on a free port, and its log. */
export interface TestService extends RunningService {
  readonly logged: Record<string, unknown>[]
  /** Requests a path, and parses a JSON response. */
  get(path: string, init?: RequestInit): Promise<Reply>
  /** The same with the generated admin token. */
  asAdmin(path: string, init?: RequestInit): Promise<Reply>
  /** The header with the generated admin token. */
  readonly admin: { readonly authorization: string }
  /** Sends JSON. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Reply>
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
  readonly body: any
}

export async function startService(
  yaml = '',
  port = 0,
  env: Record<string, string> = {},
): Promise<TestService> {
  const loaded = loadConfig({ text: yaml, env, flags: { port: String(port) } })
  if ('errors' in loaded) throw new Error(JSON.stringify(loaded.errors))
  const logged: Record<string, unknown>[] = []
  const log = pino(
    { level: 'debug', formatters: { level: (label) => ({ level: label }) } },
    { write: (line: string) => void logged.push(JSON.parse(line)) },
  )
  const serving = await serve({ config: loaded.config, log })
  const get = (path: string, init?: RequestInit) => ask(serving.url + path, init)
  const admin = { authorization: `Bearer ${serving.service.generatedAdminToken}` }
  const asAdmin = (path: string, init: RequestInit = {}) =>
    get(path, { ...init, headers: { ...admin, ...init.headers } })
  const post = (path: string, body: unknown, init: RequestInit = {}) => {
    const headers = { 'content-type': 'application/json', ...init.headers }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return get(path, { method: 'POST', body: text, ...init, headers })
  }
  return { ...serving, logged, get, asAdmin, admin, post }
}

export async function ask(url: string, init?: RequestInit): Promise<Reply> {
  const response = await fetch(url, init)
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    body: isJson && text ? JSON.parse(text) : text,
  }
}

/** A store for a file, with a long deadline: a busy machine must not look like an outage. */
export function redisStore({ url }: { readonly url: string }): string {
  return `{ url: '${url}', deadline: 10s, connectTimeout: 10s }`
}

export const CHECK = '/api/v1/rate-limit/check'
export const BATCH = '/api/v1/rate-limit/check/batch'
export const REMAINING = '/api/v1/rate-limit/remaining'
export const RESET = '/api/v1/rate-limit/reset'
export const REFUND = '/api/v1/rate-limit/refund'
export const RESERVE = '/api/v1/rate-limit/reserve'
export const SETTLE = '/api/v1/rate-limit/settle'
export const CANCEL = '/api/v1/rate-limit/cancel'
export const ACQUIRE = '/api/v1/rate-limit/acquire'
export const RELEASE = '/api/v1/rate-limit/release'
export const RENEW = '/api/v1/rate-limit/renew'
