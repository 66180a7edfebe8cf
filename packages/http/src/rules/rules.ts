import {
  assertCost,
  assertPolicy,
  type Policy,
  show,
  type TakeRequest,
  TidegateError,
  unknownName,
} from '@tidegate/core'
import { TOKEN } from '../keys/sources.js'
import { parseTemplate, type Template } from '../keys/template.js'
import { pathReadings } from '../path/path-readings.js'
import type { RequestFacts } from '../request.js'
import { compilePathPattern } from './path-pattern.js'

/** A rule of a configuration file: which requests it counts, by which key and policy. */
export interface RuleInput {
  /** A name for logs and events. */
  name: string
  /** The conditions: a request must meet all of them. Default: every request matches. */
  match?: {
    /** Path patterns: one must match, such as `/login`, `/users/{id}`, `/files/*`, `/api/**`. Default: any path. */
    path?: string | readonly string[]
    /** Methods in upper case: one must match. `GET` includes `HEAD`. Default: any method. */
    methods?: readonly string[]
    /** Required headers and their values; `*` matches any value. Default: any headers. */
    header?: Readonly<Record<string, string>>
  }
  /** A key template: see `parseTemplate`. */
  key: string
  /** The name of a policy. */
  policy: string
  /** The cost of a request. Default: 1. */
  cost?: number
}

/** A validated rule: see `defineRule`. */
export interface Rule {
  readonly name: string
  readonly key: Template
  readonly policy: Policy
  readonly cost: number
  /** The conditions of the input; an empty object if every request matches. */
  readonly match: NonNullable<RuleInput['match']>
  /** Whether the rule applies to this request. */
  matches(request: RequestFacts): boolean
}

/** One limit of a request: the matching rule, and the request for the store. */
export interface RuleLimit {
  readonly rule: Rule
  readonly request: TakeRequest
}

/** Validates a rule. `policies` finds a policy by its name. Throws `RULE_INVALID`. */
export function defineRule(input: RuleInput, policies: (name: string) => Policy | undefined): Rule {
  const { name, match = {}, key, policy, cost = 1 } = fieldsOf(input, undefined, RULE_FIELDS) as RuleInput
  if (typeof name !== 'string' || !/^[^\p{Cc}\p{Cs}]{1,100}$/u.test(name)) {
    throw ruleInvalid(
      'name',
      `name must be 1 to 100 characters, got ${show(name)}. Write for example 'login'.`,
    )
  }
  const template = inField('key', () => parseTemplate(key))
  const matches = defineMatch(match)
  const found = typeof policy === 'string' ? policies(policy) : undefined
  if (found === undefined) {
    throw ruleInvalid('policy', `policy must be the name of an existing policy, got ${show(policy)}.`)
  }
  inField('policy', () => assertPolicy(found))
  inField('cost', () => assertCost(found, cost))
  return Object.freeze({ name, key: template, policy: found, cost, match, matches })
}

/** Compiles the conditions of a rule. */
export function defineMatch(match: NonNullable<RuleInput['match']>): (request: RequestFacts) => boolean {
  const conditions = conditionsOf(fieldsOf(match, 'match', MATCH_FIELDS) as Match)
  return (request) => conditions.every((holds) => holds(request))
}

/**
 * Returns the limits of a request: one for each matching rule whose key the request has. A rule does not count a request
 * that lacks a part of the key, so end keys of optional parts with a fallback.
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
    throw ruleInvalid(
      field,
      `${field} must be a pattern or a list of patterns, got ${show(path)}. Write for example '/api/**'.`,
    )
  }
  const compiled = patterns.map((pattern) =>
    compilePathPattern(pattern, {
      // Many servers route `/Login` and `/login` to the same handler.
      ignoreCase: true,
      invalid: (problem) => ruleInvalid(field, `${field}: ${problem}`),
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
    throw ruleInvalid(
      field,
      `${field} must be a list of methods, got ${show(methods)}. Write for example ['POST'].`,
    )
  }
  for (const method of methods) {
    if (typeof method === 'string' && TOKEN.test(method) && method === method.toUpperCase()) continue
    throw ruleInvalid(
      field,
      `${field} must have only methods in upper case, got ${show(method)}. Write for example 'POST'.`,
    )
  }
  const allowed = new Set(methods)
  // HEAD runs the handler of GET, so it would bypass the rule.
  if (allowed.has('GET')) allowed.add('HEAD')
  return (request) => allowed.has(request.method)
}

function headerConditions(headers: Readonly<Record<string, string>>): Condition[] {
  const field = 'match.header'
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw ruleInvalid(
      field,
      `${field} must be an object of header names and values, got ${show(headers)}. Write for example { 'x-plan': 'free' }.`,
    )
  }
  return Object.entries(headers).map(([headerName, value]) => {
    if (!TOKEN.test(headerName))
      throw ruleInvalid(
        field,
        `${field} must have valid header names, got ${show(headerName)}. Write for example 'x-plan'.`,
      )
    if (typeof value !== 'string') {
      throw ruleInvalid(
        field,
        `${field}: the value of ${headerName} must be a string, got ${show(value)}. Write for example 'free', or '*' for any value.`,
      )
    }
    const name = headerName.toLowerCase()
    if (value === '*') return (request) => request.header(name) !== undefined
    return (request) => request.header(name) === value
  })
}

/** Rejects values that are not objects, and unknown fields. */
function fieldsOf(value: unknown, of: string | undefined, allowed: readonly string[]): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw ruleInvalid(of, `${of ?? 'A rule'} must be an object of ${allowed.join(', ')}, got ${show(value)}.`)
  }
  for (const field of Object.keys(value)) {
    if (allowed.includes(field)) continue
    const path = of === undefined ? field : `${of}.${field}`
    throw ruleInvalid(path, `${of ?? 'A rule'} has no ${unknownName(field, allowed)}.`)
  }
  return value
}

/** Converts an error about a field to an error about the rule. */
function inField<T>(field: string, parse: () => T): T {
  try {
    return parse()
  } catch (cause) {
    const { message } = cause as Error
    const hasField = message.startsWith(`${field} `)
    throw new TidegateError('RULE_INVALID', hasField ? message : `${field}: ${message}`, { field, cause })
  }
}

/** Creates the error for an invalid rule. `field` is undefined if the error concerns the whole rule. */
export function ruleInvalid(field: string | undefined, message: string): TidegateError {
  return new TidegateError('RULE_INVALID', message, field === undefined ? {} : { field })
}
