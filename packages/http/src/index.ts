export { type Address, type Cidr, contains, formatAddress, parseAddress, parseCidr } from './address.js'
export {
  type Answer,
  type AnswerFormat,
  type AnswerOptions,
  prefersProblem,
  refusal,
  unavailable,
} from './answers.js'
export type { FindIp, FrameworkProxies } from './client-ip.js'
export type { CostOption } from './cost.js'
export type { AnyLimiter } from './count-by-limiter.js'
export type { PolicyOption, RateLimitRule } from './count-by-rules.js'
export type { LimitCounted } from './counted.js'
export {
  assertStandards,
  draft6Headers,
  draft7Headers,
  draft8Headers,
  draft10Headers,
  type LimitShown,
  legacyHeaders,
  lowerCaseHeaders,
  rateLimitHeaders,
  retryAfterSeconds,
  STANDARDS,
  type Standard,
} from './headers.js'
export { isHashedKey } from './key.js'
export { type CanonicalTarget, canonicalPath } from './path.js'
export { compilePathPattern, type PathPattern, type Variables } from './path-pattern.js'
export { type PathText, pathReadings } from './path-readings.js'
export type { PolicyFields } from './policy-fields.js'
export type { PolicyUse } from './policy-use.js'
export { clientAddress, clientIp, defineProxies, type Proxies, type ProxiesOptions } from './proxies.js'
export {
  type Addition,
  defineRateLimit,
  type RateLimit,
  type Reader,
  type Refusal,
  type Ruling,
} from './rate-limit.js'
export { LONGEST_HOLD_MS, type RateLimitEvent, type RateLimitOptions } from './rate-limit-options.js'
export type { RequestFacts } from './request.js'
export {
  allOf,
  byApiKey,
  byHeader,
  byIp,
  byRoute,
  byUser,
  firstOf,
  type KeyFound,
  type KeyOption,
  type KeyResolver,
} from './resolvers.js'
export { defineRule, limitsFor, type Rule, type RuleInput, type RuleLimit } from './rules.js'
export { sha256Hex } from './sha256.js'
export { parseExpression, parseTemplate, type Template } from './template.js'
