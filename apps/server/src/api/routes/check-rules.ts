import { show } from '@tidegate/core'
import { canonicalPath, formatAddress, parseAddress, type RequestFacts, type Rule } from '@tidegate/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ActiveConfig } from '../../active-config.js'
import { badRequest } from '../../http/http-error.js'
import type { Service } from '../../service.js'
import { checkBody } from '../openapi/schemas.js'
import { matchRules } from '../request/matched-rules.js'
import { readingsOf } from '../request/original-facts.js'
import { ALLOWED, DENIED, setRateLimitHeaders } from '../response/check-body.js'
import { sendDenial, sendUnavailable } from '../response/denial.js'
import {
  checkBodiesOf,
  closedDecisionIn,
  reportedLimits,
  type TakeOutcome,
  takeAll,
} from '../response/respond.js'

/** A request that the caller has received, for a check by rules. */
export interface DescribedRequest {
  readonly method: string
  /** Includes the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly ip?: string
}

export const describedRequest = {
  type: 'object',
  description: 'A request that you received. All rules of the configuration file that match it are checked.',
  additionalProperties: false,
  required: ['method', 'path'],
  properties: {
    method: { type: 'string', pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$", examples: ['POST'] },
    path: { type: 'string', description: 'With the query.', examples: ['/login?next=/'] },
    headers: {
      type: 'object',
      description: 'By name. Repeated headers as a list.',
      additionalProperties: { type: ['string', 'array'], items: { type: 'string' } },
    },
    ip: { type: 'string', description: "The client's address.", examples: ['192.0.2.1'] },
  },
} as const

const names = { type: 'array', items: { type: 'string' } } as const

export const rulesBody = {
  properties: {
    matched: { ...names, description: 'The rules that were checked.' },
    denied: { ...names, description: 'The rules that deny.' },
    withoutKey: {
      ...names,
      description:
        'Matching rules whose key needs a field that the request does not have. They count nothing.',
    },
    results: {
      type: 'array',
      description: 'The result of each checked rule.',
      items: { type: 'object', properties: { rule: { type: 'string' }, ...checkBody.properties } },
    },
  },
} as const

export function checkRules(
  service: Service,
  described: DescribedRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { activeConfig, caller } = request
  const { rules } = activeConfig.config
  const facts = factsOf(activeConfig, described)
  const { rules: matched, checks: parsed } = matchRules(activeConfig, facts, caller)
  const withoutKey = rules.filter((rule) => !matched.includes(rule) && rule.matches(facts)).map(nameOf)
  // A take needs at least one request.
  if (parsed.length === 0) {
    return void reply.send({
      ...rulesBodyOf([], { checks: parsed, allowed: true, decisions: [] }),
      withoutKey,
    })
  }
  takeAll(service, parsed, request, reply, (outcome) => {
    const limits = reportedLimits(outcome)
    setRateLimitHeaders(limits, reply)
    const closed = closedDecisionIn(outcome)
    const body = { ...rulesBodyOf(matched, outcome), withoutKey }
    if (outcome.allowed) reply.send(body)
    else if (closed !== undefined) sendUnavailable(request, reply, closed)
    else sendDenial(body, limits, request, reply)
  })
}

function rulesBodyOf(rules: readonly Rule[], outcome: TakeOutcome): object {
  const { allowed, decisions } = outcome
  const results = checkBodiesOf(outcome).map((body, i) => ({ rule: rules[i]!.name, ...body }))
  return {
    allowed,
    retryAfterSeconds: Math.max(
      0,
      ...results.map((result) => (allowed ? 0 : (result.retryAfterSeconds ?? 0))),
    ),
    message: allowed ? ALLOWED : DENIED,
    matched: rules.map(nameOf),
    denied: rules.filter((_, i) => decisions[i]?.allowed === false).map(nameOf),
    results,
  }
}

function factsOf(
  { config }: ActiveConfig,
  { method, path: target, headers = {}, ip }: DescribedRequest,
): RequestFacts {
  const canonical = canonicalPath(target)
  if (canonical === undefined) {
    const expected = 'a path such as /login?next=/, with its escapes as they were sent'
    throw badRequest('request.path', `request.path must be ${expected}, got ${show(target)}.`)
  }
  const address = ip === undefined ? undefined : parseAddress(ip)
  if (ip !== undefined && address === undefined) {
    throw badRequest('request.ip', `request.ip must be an address such as 192.0.2.1, got ${show(ip)}.`)
  }
  const byName = new Map<string, string>()
  for (const [header, value] of Object.entries(headers)) {
    const name = header.toLowerCase()
    const lines = typeof value === 'string' ? [value] : value
    const others = byName.has(name) ? [byName.get(name)!] : []
    byName.set(name, [...others, ...lines].join(name === 'cookie' ? '; ' : ', '))
  }
  return {
    // As in forward-auth: some servers accept `post`, and some applications read other paths than the canonical one.
    method: method.toUpperCase(),
    ...canonical,
    otherPaths: readingsOf(target).otherPaths,
    header: (name) => byName.get(name),
    ip: address === undefined ? undefined : formatAddress(address, config.proxies.ipv6Prefix),
  }
}

function nameOf({ name }: { readonly name: string }): string {
  return name
}
