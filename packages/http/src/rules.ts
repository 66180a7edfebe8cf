import { assertCost, assertPolicy, type Policy, show, type TakeRequest, TidegateError } from '@tidegate/core'
import { compilePathPattern } from './path-pattern.js'
import { pathReadings } from './path-readings.js'
import type { RequestFacts } from './request.js'
import { TOKEN } from './sources.js'
import { parseTemplate, type Template } from './template.js'

/** Which requests, counted under which key, by which policy: as it stands in a file. */
export interface RuleInput {
  /** For people to know it by. */
  name: string
  /** What a request must have, all of it. Default: every request matches. */
  match?: {
    /**
     * Patterns, of which one must match: `/login`, `/users/{id}`, `/files/*`, `/api/**`. Default: any path.
     */
    path?: string | readonly string[]
    /** Of which one must match, in upper case; `GET` stands for `HEAD` too. Default: any method. */
    methods?: readonly string[]
    /** Headers and their values; `*` is any value. Default: any headers. */
    header?: Readonly<Record<string, string>>
  }
  /** A template: see `parseTemplate`. */
  key: string
  /** A policy's name. */
  policy: string
  /** What a request takes. Default: 1. */
  cost?: number
}

export interface Rule {
  readonly name: string
  readonly key: Template
  readonly policy: Policy
  readonly cost: number
  /** As it was given; empty if every request matches. */
  readonly match: NonNullable<RuleInput['match']>
  /** Whether the rule is about this request. */
  matches(request: RequestFacts): boolean
}

/** One limit of a request: what to take, and the rule that says so. */
export interface RuleLimit {
  readonly rule: Rule
  readonly request: TakeRequest
}

export function defineRule(input: RuleInput, policies: (name: string) => Policy | undefined): Rule {
  const { name, match = {}, key, policy, cost = 1 } = fieldsOf(input, undefined, RULE_FIELDS) as RuleInput
  if (typeof name !== 'string' || !/^[^\p{Cc}\p{Cs}]{1,100}$/u.test(name)) {
    throw invalid('name', `name must be 1 to 100 characters, got ${show(name)}. Write for example 'login'.`)
  }
  const template = inField('key', () => parseTemplate(key))
  const matches = defineMatch(match)
  const found = typeof policy === 'string' ? policies(policy) : undefined
  if (found === undefined) {
    throw invalid('policy', `policy must be the name of a policy, got ${show(policy)}, which there is not.`)
  }
  inField('policy', () => assertPolicy(found))
  inField('cost', () => assertCost(found, cost))
  return Object.freeze({ name, key: template, policy: found, cost, match, matches })
}

/** Whether a request has all that `match` asks for. */
export function defineMatch(match: NonNullable<RuleInput['match']>): (request: RequestFacts) => boolean {
  const conditions = conditionsOf(fieldsOf(match, 'match', MATCH_FIELDS) as Match)
  return (request) => conditions.every((holds) => holds(request))
}

/**
 * What a request has to take: one limit for each rule that matches and has a key. A rule whose key is made of
 * what the request lacks does not count it, so let keys that clients may leave out end in a fallback.
 */
export function limitsFor(rules: readonly Rule[], request: RequestFacts): RuleLimit[] {
  const limits: RuleLimit[] = []
  for (const rule of rules) {
    if (!rule.matches(request)) continue
    const key = rule.key.resolve(request)
    if (key !== undefined) limits.push({ rule, request: { policy: rule.policy, key, cost: rule.cost } })
  }
  return limits
}

type Match = NonNullable<RuleInput['match']>
type Condition = (request: RequestFacts) => boolean

const RULE_FIELDS = ['name', 'match', 'key', 'policy', 'cost']
const MATCH_FIELDS = ['path', 'methods', 'header']

function conditionsOf({ path, methods, header }: Match): Condition[] {
  const conditions: Condition[] = []
  if (methods !== undefined) conditions.push(methodCondition(methods))
  if (path !== undefined) conditions.push(pathCondition(path))
  if (header !== undefined) conditions.push(...headerConditions(header))
  return conditions
}

function pathCondition(path: string | readonly string[]): Condition {
  const field = 'match.path'
  const patterns: unknown = typeof path === 'string' ? [path] : path
  if (!Array.isArray(patterns) || patterns.length === 0) {
    throw invalid(field, `${field} must be a pattern or a list of them, got ${show(path)}. Write '/api/**'.`)
  }
  const compiled = patterns.map((pattern) =>
    compilePathPattern(pattern, {
      // Many servers route `/Login` and `/login` to the same handler.
      ignoreCase: true,
      invalid: (problem) => invalid(field, `${field}: ${problem}`),
    }),
  )
  return (request) => {
    const { all } = pathReadings(request)
    return compiled.some((pattern) => all.some((path) => pattern.matches(path)))
  }
}

function methodCondition(methods: readonly string[]): Condition {
  const field = 'match.methods'
  if (!Array.isArray(methods) || methods.length === 0) {
    throw invalid(field, `${field} must be a list such as ['POST'], got ${show(methods)}.`)
  }
  for (const method of methods) {
    if (typeof method === 'string' && TOKEN.test(method) && method === method.toUpperCase()) continue
    throw invalid(field, `${field} has ${show(method)}; write methods in upper case, for example 'POST'.`)
  }
  const allowed = new Set(methods)
  // HEAD runs what GET runs, and would be a way around the rule.
  if (allowed.has('GET')) allowed.add('HEAD')
  return (request) => allowed.has(request.method)
}

function headerConditions(headers: Readonly<Record<string, string>>): Condition[] {
  const field = 'match.header'
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw invalid(
      field,
      `${field} must be names and values such as { 'x-plan': 'free' }, got ${show(headers)}.`,
    )
  }
  return Object.entries(headers).map(([given, value]) => {
    if (!TOKEN.test(given)) throw invalid(field, `${field} has ${show(given)}, which is no name of a header.`)
    if (typeof value !== 'string') {
      throw invalid(field, `${field} has ${show(value)} for ${given}; write a text, or '*' for any value.`)
    }
    const name = given.toLowerCase()
    if (value === '*') return (request) => request.header(name) !== undefined
    return (request) => request.header(name) === value
  })
}

/** An object without fields that mean nothing. */
function fieldsOf(value: unknown, of: string | undefined, known: readonly string[]): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(of, `${of ?? 'A rule'} must be an object of ${known.join(', ')}, got ${show(value)}.`)
  }
  for (const field of Object.keys(value)) {
    if (known.includes(field)) continue
    const path = of === undefined ? field : `${of}.${field}`
    throw invalid(path, `${of ?? 'A rule'} has no ${show(field)}; it takes ${known.join(', ')}.`)
  }
  return value
}

/** What another part has to say of a field, said of the rule. */
function inField<T>(field: string, parse: () => T): T {
  try {
    return parse()
  } catch (cause) {
    throw new TidegateError('RULE_INVALID', `${field}: ${(cause as Error).message}`, { field, cause })
  }
}

function invalid(field: string | undefined, message: string): TidegateError {
  return new TidegateError('RULE_INVALID', message, field === undefined ? {} : { field })
}
