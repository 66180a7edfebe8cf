import {
  createLimiter,
  fixedWindow,
  ManualClock,
  MemoryStore,
  type Policy,
  slidingWindowCounter,
} from '@tidegate/core'
import { describe, expect, it } from 'vitest'
import {
  DECLARED_MAXIMUM,
  syntheticTrace,
  TRACE_MINUTES,
  type TracedRequest,
} from '../../../test/llm-trace.js'
import { type CostExpression, parseCost } from './cost-expression.js'
import { estimateCost } from './estimate.js'
import { createOutputHistory } from './output-history.js'

/*
 * Replays a trace of model requests under a limit of tokens per minute. An oracle that knows each output in advance
 * shows which requests the limit should deny.
 */

interface Replayed {
  /** The most tokens of the requests that were allowed within one minute, divided by the limit. */
  readonly fullestMinute: number
  readonly deniedPercent: number
}

/** How a request is charged: at its start, whether it may run, and at its end. */
interface Charging {
  begin(request: TracedRequest, id: string): boolean
  end(request: TracedRequest, id: string): void
}

const { costOf } = parseCost('input + output') as CostExpression
const MINUTE_MS = 60_000
const KEY = 'team'
const tokensOf = ({ inputTokens, outputTokens }: TracedRequest) => inputTokens + outputTokens

function replay(
  trace: readonly TracedRequest[],
  policy: Policy,
  chargingBy: (limiter: ReturnType<typeof limiterOf>) => Charging,
): Replayed {
  const clock = new ManualClock()
  const { begin, end } = chargingBy(limiterOf(policy, clock))
  const running: { readonly endMs: number; readonly id: string; readonly request: TracedRequest }[] = []
  const allowed: TracedRequest[] = []
  trace.forEach((request, i) => {
    running.sort((a, b) => a.endMs - b.endMs)
    while (running.length > 0 && running[0]!.endMs <= request.timeMs) {
      const { id, request, endMs } = running.shift()!
      clock.set(endMs)
      end(request, id)
    }
    clock.set(request.timeMs)
    const id = `request-${i}`
    if (!begin(request, id)) return
    allowed.push(request)
    running.push({ endMs: request.timeMs + request.durationMs, id, request })
  })
  return {
    fullestMinute: fullestMinute(allowed) / policy.limit,
    deniedPercent: (100 * (trace.length - allowed.length)) / trace.length,
  }
}

function limiterOf(policy: Policy, clock: ManualClock) {
  return createLimiter({ policy, store: new MemoryStore({ clock }) })
}

function fullestMinute(requests: readonly TracedRequest[]): number {
  const minutes = new Map<number, number>()
  for (const request of requests) {
    const minute = Math.floor(request.timeMs / MINUTE_MS)
    minutes.set(minute, (minutes.get(minute) ?? 0) + tokensOf(request))
  }
  return Math.max(...minutes.values())
}

const TRACE = syntheticTrace()
const PER_MINUTE = TRACE.reduce((sum, request) => sum + tokensOf(request), 0) / TRACE_MINUTES

function oracle(policy: Policy): Replayed {
  return replay(TRACE, policy, (limiter) => ({
    begin: (request) => limiter.check(KEY, tokensOf(request)).allowed,
    end: () => {},
  }))
}

/** Reserves an estimate, which may depend on the outputs so far, and settles it. */
function reserving(
  policy: Policy,
  estimate: (request: TracedRequest, p95: number | undefined) => number,
): Replayed {
  return replay(TRACE, policy, (limiter) => {
    const history = createOutputHistory()
    return {
      begin: (request, id) =>
        limiter.reserve(KEY, estimate(request, history.p95('tokens', 'model')), { id }).allowed,
      end(request, id) {
        limiter.settle(KEY, id, tokensOf(request))
        const { outputTokens } = request
        history.add('tokens', 'model', outputTokens, outputTokens >= DECLARED_MAXIMUM)
      },
    }
  })
}

describe('a replay of 5,000 model requests', () => {
  it.each([
    ['fixed window', 0.5, fixedWindow],
    ['fixed window', 0.75, fixedWindow],
    ['fixed window', 1, fixedWindow],
    ['sliding window counter', 1, slidingWindowCounter],
  ])(
    'holds a %s of %d of the demand, and denies within two points of an oracle',
    (_, share, definePolicy) => {
      const policy = definePolicy({ limit: Math.round(PER_MINUTE * share), window: '1m', name: 'tokens' })
      const right = oracle(policy)
      const budget = reserving(policy, ({ estimatedInput }, p95) => {
        const request = { inputTokens: estimatedInput, maxOutputTokens: DECLARED_MAXIMUM, model: 'model' }
        return estimateCost(costOf, request, p95, policy.limit)
      })
      expect(right.fullestMinute).toBeLessThanOrEqual(1)
      expect(budget.fullestMinute).toBeLessThanOrEqual(1.02)
      expect(Math.abs(budget.deniedPercent - right.deniedPercent)).toBeLessThanOrEqual(2)
    },
  )

  // Two simple alternatives, which show that the trace can distinguish them.

  it('allows more than the limit if requests are charged at their end', () => {
    const policy = fixedWindow({ limit: Math.round(PER_MINUTE / 2), window: '1m', name: 'tokens' })
    const atEnd = replay(TRACE, policy, (limiter) => ({
      begin: () => limiter.peek(KEY).allowed,
      end: (request) => void limiter.charge(KEY, tokensOf(request)),
    }))
    expect(atEnd.fullestMinute).toBeGreaterThan(1.2)
  })

  it('denies too many requests if each reserves its declared maximum', () => {
    const policy = slidingWindowCounter({ limit: Math.round(PER_MINUTE), window: '1m', name: 'tokens' })
    const maximum = reserving(policy, ({ estimatedInput }) => estimatedInput + DECLARED_MAXIMUM)
    expect(maximum.deniedPercent - oracle(policy).deniedPercent).toBeGreaterThan(5)
  })
})
