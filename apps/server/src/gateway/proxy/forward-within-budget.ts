import type { RequestBudget } from '../route.js'
import type { Exchange } from './exchange.js'
import { forward } from './forward.js'
import type { RequestBody } from './request-body.js'
import type { RequestContext } from './request-context.js'

export const TOO_MANY_BODIES = 'Too many large request bodies are being received; retry in 1 s.'

/** Reserves memory for a body that is read as a whole. Returns a function that frees it; undefined if it is used up. */
export function holdMemory(
  { state: { bodyMemory } }: RequestContext,
  ip: string | undefined,
  bytes: number,
): (() => void) | undefined {
  const client = ip ?? 'unknown'
  if (!bodyMemory.take(client, bytes)) return undefined
  return () => bodyMemory.give(client, bytes)
}

/** Reads the whole request, reserves its estimated cost, and forwards it unless that is denied. */
export function forwardWithinBudget(
  context: RequestContext,
  exchange: Exchange,
  body: RequestBody,
  budget: RequestBudget,
): void {
  body.whenSettled(() => {
    // `forward` rejects a body that has failed.
    if (body.errored) return void forward(exchange)
    budget.reserve(exchange.rateLimitHeaders).then(
      ({ denial, headers }) => {
        if (context.isOver) return void body.destroy()
        exchange.rateLimitHeaders = headers
        if (denial === undefined) return void forward(exchange)
        body.destroy()
        context.deny(denial, headers)
      },
      (error) => {
        body.destroy()
        context.fail(error)
      },
    )
  })
}
