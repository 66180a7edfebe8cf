import { show } from '@tidegate/core'
import { badRequest, HttpError } from '../../http/http-error.js'
import { FORWARD_AUTH, type OriginalRequest } from './original-request.js'
import { queryReader } from './query.js'

/** The options that the configuration of a proxy writes into the query. */
export interface ForwardAuthOptions {
  readonly status: 429 | 403
  readonly isPeek: boolean
}

export const forwardAuthQuery = {
  type: 'object',
  additionalProperties: false,
  properties: {
    status: {
      type: 'string',
      enum: ['429', '403'],
      description: 'The status of a denial. nginx accepts 403 only. Default: 429.',
    },
    peek: { type: 'string', enum: ['', 'true'], description: 'Decides without counting the request.' },
  },
} as const

const parseQuery = queryReader(forwardAuthQuery)

/**
 * Reads the options in the query of the route. The query is the client's below the path of the route, and if the proxy passes
 * it on, as Caddy does for a `uri` without `?`. A client can never choose `peek`.
 */
export function readForwardAuthOptions(url: string, { target }: OriginalRequest): ForwardAuthOptions {
  const own = url.startsWith(`${FORWARD_AUTH}?`) ? queryOf(url) : ''
  const clients = queryOf(target)
  const options = parseOptions(own)
  if (options instanceof HttpError) {
    if (own === clients) return { status: 429, isPeek: false }
    throw options
  }
  const hasClientPeek = /(?:^|&)peek(?:[=&]|$)/.test(clients)
  return { ...options, isPeek: options.isPeek && !hasClientPeek }
}

function parseOptions(raw: string): ForwardAuthOptions | HttpError {
  const query = parseQuery(raw)
  if (query instanceof HttpError) return query
  const { status = '429', peek } = query
  if (status !== '429' && status !== '403') {
    return badRequest('status', `status must be 429 or 403, got ${show(status)}.`)
  }
  if (peek !== undefined && peek !== '' && peek !== 'true') {
    return badRequest('peek', `peek must have no value or true, got ${show(peek)}; write ?peek.`)
  }
  return { status: status === '403' ? 403 : 429, isPeek: peek !== undefined }
}

function queryOf(target: string): string {
  const start = target.indexOf('?')
  return start < 0 ? '' : target.slice(start + 1)
}
