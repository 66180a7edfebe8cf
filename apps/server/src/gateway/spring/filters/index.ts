import type { FilterPart } from '../filter.js'
import * as limiters from './algorithm-limiters.js'
import { CircuitBreaker } from './circuit-breaker-filter.js'
import { ConcurrencyLimiter } from './concurrency-limiter.js'
import * as headers from './header-filters.js'
import * as paths from './path-filters.js'
import { RateLimiter } from './rate-limiter.js'
import * as parameters from './request-parameter-filters.js'
import { RequestRateLimiter } from './request-rate-limiter.js'
import * as answers from './response-filters.js'
import * as responseHeaders from './response-header-filters.js'
import { Retry } from './retry.js'
import { TokenBudget } from './token-budget.js'

export const FILTERS: Readonly<Record<string, FilterPart>> = {
  ...limiters,
  RateLimiter,
  RequestRateLimiter,
  TokenBudget,
  ConcurrencyLimiter,
  ...paths,
  ...parameters,
  ...headers,
  ...responseHeaders,
  ...answers,
  Retry,
  CircuitBreaker,
  /** The name before Spring Cloud 2020. */
  Hystrix: CircuitBreaker,
}

const BODIES = 'bodies are forwarded unread; remove it'
const UPSTREAM = 'do this in the upstream, and remove it here'

/** Filters of Spring that are ignored with a warning. Without them, no upstream receives additional data. */
export const FILTERS_WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  CacheRequestBody: 'no filter reads the body',
  FallbackHeaders: 'fallbacks get no headers about the failure',
  LocalResponseCache: 'there is no cache',
  SaveSession: 'there are no sessions',
  TokenRelay: 'upstreams get the Authorization header of the client, or none',
}

/** Filters of Spring that are errors, with advice. */
export const UNSUPPORTED_FILTERS: Readonly<Record<string, string>> = {
  AddRequestHeadersIfNotPresent: 'use one SetRequestHeader for each header',
  JsonToGrpc: BODIES,
  MapRequestHeader: UPSTREAM,
  ModifyRequestBody: BODIES,
  ModifyResponseBody: BODIES,
  RemoveJsonAttributesResponseBody: BODIES,
  RequestHeaderSize: 'limits.maxHeaderBytes in this file bounds all headers together; remove it',
  RequestHeaderToRequestUri: 'the upstream is always the one in uri; remove it',
  RewriteLocationResponseHeader: UPSTREAM,
  RewriteRequestParameter: UPSTREAM,
  RewriteResponseHeader: 'use SetResponseHeader or RemoveResponseHeader',
  SetRequestHostHeader: 'use PreserveHostHeader, or remove it to send the host of the upstream',
}
