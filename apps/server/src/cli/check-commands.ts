import { escapeControls } from '../log/escape-controls.js'
import {
  errorMessageOf,
  notTidegate,
  type ServiceAddress,
  type ServiceRequest,
  type ServiceResponse,
  sendRequest,
} from './service-client.js'
import { EXIT, type Terminal } from './terminal.js'

/** Options of `check`, `peek` and `reset`. */
export interface CheckOptions {
  readonly url: string
  readonly token?: string
  readonly policy?: string
  readonly algorithm?: string
  readonly permits?: number
  readonly json?: boolean
}

export async function check(key: string, options: CheckOptions, terminal: Terminal): Promise<number> {
  const { policy, algorithm, permits } = options
  const request: ServiceRequest = {
    method: 'POST',
    path: '/api/v1/rate-limit/check',
    fields: { key, policy, algorithm: algorithmLabel(algorithm), permits },
  }
  return runCommand(request, options, terminal, ({ status, body }) => {
    if (typeof body.allowed !== 'boolean' || (status !== 200 && status !== 429)) return undefined
    const { allowed } = body
    const word = allowed ? terminal.paint('green', 'allowed') : terminal.paint('red', 'denied')
    return {
      line: `${word}  ${escapeControls(key)}  ${numbers(body)}`,
      code: allowed ? EXIT.ok : EXIT.denied,
    }
  })
}

export async function peek(key: string, options: CheckOptions, terminal: Terminal): Promise<number> {
  const { policy, algorithm } = options
  const request: ServiceRequest = {
    method: 'GET',
    path: '/api/v1/rate-limit/remaining',
    fields: { key, policy, algorithm: algorithmLabel(algorithm) },
  }
  return runCommand(request, options, terminal, ({ status, body }) => {
    const { allowed, remaining } = body
    if (status !== 200 || (typeof allowed !== 'boolean' && typeof remaining !== 'number')) return undefined
    const passes = typeof allowed === 'boolean' ? allowed : Number(remaining) >= 1
    const word = passes
      ? terminal.paint('green', 'would be allowed')
      : terminal.paint('red', 'would be denied')
    return {
      line: `${word}  ${escapeControls(key)}  ${numbers(body)}`,
      code: passes ? EXIT.ok : EXIT.denied,
    }
  })
}

export async function reset(key: string, options: CheckOptions, terminal: Terminal): Promise<number> {
  const { policy } = options
  const request: ServiceRequest = {
    method: 'DELETE',
    path: '/api/v1/rate-limit/reset',
    fields: { key, policy },
  }
  const { TIDEGATE_ADMIN_TOKEN: adminToken } = terminal.env
  const token = options.token ?? (adminToken || undefined)
  return runCommand(
    request,
    token === undefined ? options : { ...options, token },
    terminal,
    ({ status }) => {
      if (status < 200 || status > 299) return undefined
      const of = policy === undefined ? 'in every policy' : `in ${escapeControls(policy)}`
      return { line: `${terminal.paint('green', 'reset')}  ${escapeControls(key)}  ${of}`, code: EXIT.ok }
    },
  )
}

/** Sends the request, and prints the line that `read` returns for the response, or the error. */
async function runCommand(
  request: ServiceRequest,
  options: CheckOptions,
  terminal: Terminal,
  read: (response: ServiceResponse) => { line: string; code: number } | undefined,
): Promise<number> {
  const service = serviceOf(options, terminal)
  if ('problem' in service) {
    terminal.err(service.problem)
    return EXIT.usage
  }
  const response = await sendRequest(service, request)
  if ('problem' in response) {
    if (options.json) terminal.out(JSON.stringify({ error: 'no_answer', message: response.problem }))
    else terminal.err(response.problem)
    return EXIT.noResponse
  }
  const result = read(response)
  if (options.json) terminal.out(JSON.stringify(response.body))
  if (result !== undefined) {
    const { degraded } = response
    const note = degraded && terminal.paint('yellow', `  (store unavailable: ${escapeControls(degraded)})`)
    if (!options.json) terminal.out(result.line + (note ?? ''))
    return result.code
  }
  if (!options.json) terminal.err(failure(response, service, request))
  return response.status >= 400 && response.status <= 499 ? EXIT.usage : EXIT.noResponse
}

function serviceOf(options: CheckOptions, { env }: Terminal): ServiceAddress | { problem: string } {
  const token = options.token ?? (env.TIDEGATE_TOKEN || undefined)
  if (token !== undefined && !/^[!-~]+$/.test(token)) {
    return { problem: 'The token must consist of visible ASCII characters without spaces.' }
  }
  const { url } = options
  if (!/^https?:\/\/[^@?#]+$/.test(url) || !URL.canParse(url)) {
    return {
      problem: '--url must be a URL such as http://127.0.0.1:8080, without a user, a query or a fragment.',
    }
  }
  return { url, token }
}

function failure(
  response: ServiceResponse,
  { url, token }: ServiceAddress,
  { path }: ServiceRequest,
): string {
  const reason = errorMessageOf(response)
  const variable = path.endsWith('/reset') ? 'TIDEGATE_ADMIN_TOKEN' : 'TIDEGATE_TOKEN'
  switch (response.status) {
    case 401:
      return token === undefined
        ? `The service at ${url} requires a token: ${reason}. Pass --token or set ${variable}.`
        : `The service at ${url} rejected the token: ${reason}.`
    case 403:
      return `Not allowed: ${reason}.`
    case 503:
      return `The service at ${url} is unavailable: ${reason}.`
    default:
      if (response.status < 400) return notTidegate(url)
      return response.status >= 500
        ? `The service at ${url} failed: ${reason}.`
        : `The service at ${url} rejected the request: ${reason}.`
  }
}

/** `99 of 100 left, full limit in 1 s (policy token_bucket)`, without the numbers that the response does not have. */
function numbers(body: ServiceResponse['body']): string {
  const { limit, remaining, retryAfterSeconds, resetAfterSeconds, policy } = body
  const parts: string[] = []
  if (typeof retryAfterSeconds === 'number' && retryAfterSeconds > 0) {
    parts.push(`retry in ${retryAfterSeconds} s`)
  }
  if (typeof remaining === 'number') {
    parts.push(typeof limit === 'number' ? `${remaining} of ${limit} left` : `${remaining} left`)
  }
  if (typeof resetAfterSeconds === 'number' && resetAfterSeconds > 0) {
    parts.push(`full limit in ${resetAfterSeconds} s`)
  }
  const of = typeof policy === 'string' ? [`(policy ${escapeControls(policy)})`] : []
  return [...(parts.length > 0 ? [parts.join(', ')] : []), ...of].join(' ')
}

/** The service's name of an algorithm: token-bucket is TOKEN_BUCKET. */
function algorithmLabel(algorithm: string | undefined): string | undefined {
  return algorithm?.toUpperCase().replaceAll('-', '_')
}
