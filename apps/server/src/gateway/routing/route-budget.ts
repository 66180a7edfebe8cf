import type { Decision } from '@tidegate/core'
import {
  deniedResponse,
  lowerCaseHeaders,
  prefersProblem,
  retryAfterSeconds,
  unavailableResponse,
} from '@tidegate/http'
import type { GatewayRequest, RouteBudget, RouteDecision, TokenBudgets } from '../route.js'
import type { OutputHistory } from '../token-budget/output-history.js'
import {
  type BudgetReservation,
  createRequestBudget,
  type KeyedBudget,
  type ReservedLimit,
} from '../token-budget/request-budget.js'
import { type OnDecision, onRoute, rejectAmbiguousKey } from './route-limiter.js'

export interface RouteBudgetOptions {
  readonly reserve: (limits: readonly ReservedLimit[]) => Promise<BudgetReservation>
  readonly history: OutputHistory
  readonly onDecision: OnDecision
}

export function createRouteBudget(
  routeId: string,
  { budgets, maxBodyBytes }: TokenBudgets,
  { reserve, history, onDecision }: RouteBudgetOptions,
): RouteBudget | undefined {
  if (budgets.length === 0) return undefined
  return {
    begin(request) {
      const facts = onRoute(request, routeId)
      for (const { key } of budgets) {
        const part = key.ambiguousPart(facts)
        if (part !== undefined) return rejectAmbiguousKey(part)
      }
      const keyedBudgets = budgets.flatMap(({ key, ...budget }): KeyedBudget[] => {
        const resolvedKey = key.resolve(facts)
        return resolvedKey === undefined ? [] : [{ ...budget, key: resolvedKey }]
      })
      if (keyedBudgets.length === 0) return undefined
      if (!IDENTITY.test(request.header('content-encoding') ?? '')) return rejectEncodedBody()
      let startMs = 0
      return createRequestBudget({
        budgets: keyedBudgets,
        maxBodyBytes,
        hasOutput: !request.path.endsWith('/embeddings'),
        history,
        reserve(limits) {
          startMs = performance.now()
          return reserve(limits)
        },
        decide(decisions, headers) {
          const seconds = (performance.now() - startMs) / 1000
          const limits = keyedBudgets.flatMap((budget, i) => {
            const decision = decisions[i]
            return decision === undefined ? [] : [{ ...budget, decision }]
          })
          for (const { policy, key, decision } of limits) onDecision({ policy, key, decision }, seconds)
          return routeDecisionOf(request, limits, headers)
        },
      })
    },
  }
}

const IDENTITY = /^\s*(identity)?\s*$/i

/** Rejects an encoded body: its tokens cannot be estimated, because a large input can be small when compressed. */
function rejectEncodedBody(): RouteDecision {
  const message = 'This route does not accept Content-Encoding; send the body uncompressed.'
  return {
    denial: {
      status: 415,
      contentType: 'application/json',
      body: JSON.stringify({ error: 'unsupported_media_type', message }),
    },
    headers: { 'cache-control': 'no-store', 'accept-encoding': 'identity' },
    holdMs: 0,
  }
}

/** Builds the decision, with the same headers and bodies as other limits. */
function routeDecisionOf(
  request: GatewayRequest,
  limits: readonly (KeyedBudget & { readonly decision: Decision })[],
  outer: RouteDecision['headers'],
): RouteDecision {
  const headers = joinHeaders(outer, lowerCaseHeaders(limits, ['legacy', 'draft-10']))
  const denials = limits.map(({ decision }) => decision).filter(({ allowed }) => !allowed)
  if (denials.length === 0) return { denial: undefined, headers, holdMs: 0 }
  headers['cache-control'] = 'no-store'
  const format = prefersProblem(request.header('accept')) ? 'problem' : 'plain'
  const options = { format, instance: request.path } as const
  const isClosed = denials.some(({ degraded }) => degraded === 'closed')
  const { status, contentType, body } = isClosed
    ? unavailableResponse({ ...options, retryAfterSeconds: Math.max(...denials.map(retryAfterSeconds)) })
    : deniedResponse(limits, options)
  return { denial: { status, contentType, body: JSON.stringify(body) }, headers, holdMs: 0 }
}

/** Joins the lists of policies. Other headers of the budgets replace those of the limits. */
function joinHeaders(outer: RouteDecision['headers'], own: Record<string, string>): Record<string, string> {
  const headers = { ...outer, ...own }
  for (const name of ['ratelimit', 'ratelimit-policy']) {
    if (outer[name] !== undefined && own[name] !== undefined) headers[name] = `${outer[name]}, ${own[name]}`
  }
  return headers
}
