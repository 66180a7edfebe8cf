export {
  type Address,
  type Cidr,
  contains,
  formatAddress,
  parseAddress,
  parseCidr,
} from './address/address.js'
export type { FindIp, FrameworkProxies } from './address/client-ip.js'
export {
  clientAddress,
  clientIp,
  defineProxies,
  isTrustedProxy,
  namedClient,
  type Proxies,
  type ProxiesOptions,
} from './address/proxies.js'
export { isHashedKey } from './keys/key.js'
export {
  allOf,
  byApiKey,
  byHeader,
  byIp,
  byRoute,
  byUser,
  firstOf,
  type KeyOption,
  type KeyResolver,
  type KeyValue,
} from './keys/resolvers.js'
export { sha256Hex } from './keys/sha256.js'
export { parseExpression, parseTemplate, type Template } from './keys/template.js'
export type { AnyLimiter } from './middleware/check-by-limiter.js'
export type { PolicyOption, RateLimitRule } from './middleware/check-by-rules.js'
export type { LimitDecision } from './middleware/checker.js'
export type { CostOption } from './middleware/cost.js'
export type { PolicyFields } from './middleware/policy-fields.js'
export type { PolicyUse } from './middleware/policy-use.js'
export {
  type DeniedRequest,
  defineRateLimit,
  type FrameworkAdapter,
  type RequestLimiter,
  type RequestOutcome,
  type RequestReader,
} from './middleware/rate-limit.js'
export {
  LONGEST_HOLD_MS,
  type RateLimitEvent,
  type RateLimitOptions,
} from './middleware/rate-limit-options.js'
export { type CanonicalTarget, canonicalPath } from './path/path.js'
export { type PathText, pathReadings } from './path/path-readings.js'
export { targetReadings } from './path/target.js'
export type { RequestFacts } from './request.js'
export {
  type BodyFormat,
  deniedResponse,
  type ErrorResponse,
  type ErrorResponseOptions,
  prefersProblem,
  unavailableResponse,
} from './response/error-response.js'
export {
  assertStandards,
  draft6Headers,
  draft7Headers,
  draft8Headers,
  draft10Headers,
  legacyHeaders,
  lowerCaseHeaders,
  type ReportedLimit,
  rateLimitHeaders,
  retryAfterSeconds,
  STANDARDS,
  type Standard,
} from './response/headers.js'
export { compilePathPattern, type PathPattern, type Variables } from './rules/path-pattern.js'
export { defineRule, limitsFor, type Rule, type RuleInput, type RuleLimit } from './rules/rules.js'
