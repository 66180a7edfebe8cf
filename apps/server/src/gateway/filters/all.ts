import type { FilterPart } from '../filter.js'
import * as answers from './answers.js'
import * as headers from './headers.js'
import * as limiters from './limiters.js'
import * as paths from './paths.js'
import { RateLimiter } from './rate-limiter.js'
import { RequestRateLimiter } from './request-rate-limiter.js'
import { Retry } from './retry.js'

export const FILTERS: Readonly<Record<string, FilterPart>> = {
  ...limiters,
  RateLimiter,
  RequestRateLimiter,
  ...paths,
  ...headers,
  ...answers,
  Retry,
}

const BODIES = 'bodies are passed on unread; remove it'
const UPSTREAM = 'let the upstream do it, and remove it here'

/** What Spring has besides, and what to do without it. */
export const UNSUPPORTED_FILTERS: Readonly<Record<string, string>> = {
  AddRequestHeadersIfNotPresent: 'use SetRequestHeader, one for each',
  AddRequestParameter: UPSTREAM,
  CacheRequestBody: BODIES,
  CircuitBreaker: 'use healthCheck on the route, which leaves out upstreams that fail',
  DedupeResponseHeader: 'use SetResponseHeader or RemoveResponseHeader',
  FallbackHeaders: 'there is no CircuitBreaker either; remove it',
  Hystrix: 'use healthCheck on the route, which leaves out upstreams that fail',
  JsonToGrpc: BODIES,
  LocalResponseCache: 'put a cache in front or behind, and remove it here',
  MapRequestHeader: UPSTREAM,
  ModifyRequestBody: BODIES,
  ModifyResponseBody: BODIES,
  RemoveJsonAttributesResponseBody: BODIES,
  RemoveRequestParameter: UPSTREAM,
  RequestHeaderSize: 'limits.maxHeaderBytes in this file bounds all headers together; remove it',
  RequestHeaderToRequestUri: 'the upstream is always the one in uri; remove it',
  RewriteLocationResponseHeader: UPSTREAM,
  RewriteRequestParameter: UPSTREAM,
  RewriteResponseHeader: 'use SetResponseHeader or RemoveResponseHeader',
  SaveSession: 'there are no sessions here; remove it',
  SecureHeaders: 'use AddResponseHeader, one for each header',
  SetRequestHostHeader: 'use PreserveHostHeader, or leave it out for the host of the upstream',
  TokenRelay: 'the header Authorization is passed on as it is; remove it',
}
