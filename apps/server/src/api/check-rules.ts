import { show } from '@tidegate/core'
import {
  canonicalPath,
  formatAddress,
  isHashedKey,
  type LimitShown,
  limitsFor,
  parseAddress,
  type RequestFacts,
  type Rule,
} from '@tidegate/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { InForce } from '../in-force.js'
import type { Service } from '../service.js'
import { ALLOWED, REFUSED, showLimits } from './answer.js'
import { badRequest } from './api-error.js'
import { type Asked, assertOwn } from './asking.js'
import { bodiesOf, closedOf, type Taken, takeAll } from './decided.js'
import { sendRefusal, sendUnavailable } from './refuse.js'
import { checkBody } from './schemas.js'

/** A request that somebody else has received. */
export interface DescribedRequest {
  readonly method: string
  /** With the query, if there is one. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly ip?: string
}

export const describedRequest = {
  type: 'object',
  description: 'A request that you have received: the rules of the file that match it are checked.',
  additionalProperties: false,
  required: ['method', 'path'],
  properties: {
    method: { type: 'string', pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$", examples: ['POST'] },
    path: { type: 'string', description: 'With the query.', examples: ['/login?next=/'] },
    headers: {
      type: 'object',
      description: 'By name; several of one name as a list.',
      additionalProperties: { type: ['string', 'array'], items: { type: 'string' } },
    },
    ip: { type: 'string', description: "The client's address.", examples: ['192.0.2.1'] },
  },
} as const

const names = { type: 'array', items: { type: 'string' } } as const

export const rulesBody = {
  properties: {
    matched: { ...names, description: 'The rules that were checked.' },
    refused: { ...names, description: 'Those of them that refuse.' },
    withoutKey: {
      ...names,
      description:
        'Rules that match too, but the request lacks what their key is made of: nothing is counted.',
    },
    results: {
      type: 'array',
      description: 'What each rule that was checked says.',
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
  const { inForce } = request
  const { rules } = inForce.config
  const facts = factsOf(inForce, described)
  const limits = limitsFor(rules, facts)
  const asked = limits.map(({ rule, request: take }): Asked => {
    return { by: inForce.policies.get(rule.policy.name)!, take }
  })
  const matched = limits.map(({ rule }) => rule)
  const { caller } = request
  if (caller !== null) {
    asked.forEach(({ take, by }, i) => {
      assertOwn(caller, isHashedKey(take.key) ? startOf(matched[i]!) || take.key : take.key, by)
    })
  }
  const withoutKey = rules.filter((rule) => !matched.includes(rule) && rule.matches(facts)).map(nameOf)
  // Nothing limits it, which is no take.
  if (asked.length === 0) {
    return void reply.send({ ...answerOf([], { asked, allowed: true, decisions: [] }), withoutKey })
  }
  takeAll(service, asked, request, reply, (taken) => {
    const shown = limitsShown(taken)
    showLimits(shown, reply)
    const closed = closedOf(taken)
    const body = { ...answerOf(matched, taken), withoutKey }
    if (taken.allowed) reply.send(body)
    else if (closed !== undefined) sendUnavailable(request, reply, closed)
    else sendRefusal(body, shown, request, reply)
  })
}

function answerOf(rules: readonly Rule[], taken: Taken): object {
  const { allowed, decisions } = taken
  const results = bodiesOf(taken).map((body, i) => ({ rule: rules[i]!.name, ...body }))
  return {
    allowed,
    retryAfterSeconds: Math.max(
      0,
      ...results.map((result) => (allowed ? 0 : (result.retryAfterSeconds ?? 0))),
    ),
    message: allowed ? ALLOWED : REFUSED,
    matched: rules.map(nameOf),
    refused: rules.filter((_, i) => decisions[i]?.allowed === false).map(nameOf),
    results,
  }
}

/** What every key of a rule begins with, also one that was hashed: whose it is must not hang on what clients send. */
function startOf({ key }: Rule): string {
  return /^[^{}]*/.exec(key.text)![0]
}

function limitsShown({ asked, decisions }: Taken): LimitShown[] {
  return asked.flatMap(({ by }, i) => {
    const decision = decisions[i]
    return decision === undefined ? [] : [{ decision, policy: by.policy }]
  })
}

function factsOf(
  { config }: InForce,
  { method, path: target, headers = {}, ip }: DescribedRequest,
): RequestFacts {
  const canonical = canonicalPath(target)
  if (canonical === undefined) {
    const what = 'a path such as /login?next=/, with its escapes as they were sent'
    throw badRequest('request.path', `request.path must be ${what}, got ${show(target)}.`)
  }
  const address = ip === undefined ? undefined : parseAddress(ip)
  if (ip !== undefined && address === undefined) {
    throw badRequest('request.ip', `request.ip must be an address such as 192.0.2.1, got ${show(ip)}.`)
  }
  const byName = new Map<string, string>()
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase()
    const lines = typeof value === 'string' ? [value] : value
    const others = byName.has(name) ? [byName.get(name)!] : []
    byName.set(name, [...others, ...lines].join(name === 'cookie' ? '; ' : ', '))
  }
  return {
    method,
    ...canonical,
    header: (name) => byName.get(name),
    ip: address === undefined ? undefined : formatAddress(address, config.proxies.ipv6Prefix),
  }
}

function nameOf({ name }: { readonly name: string }): string {
  return name
}
