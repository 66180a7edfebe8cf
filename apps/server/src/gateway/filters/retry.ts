import {
  durationMs,
  flag,
  listOf,
  method,
  number,
  refused,
  shown,
  status,
  unfit,
  whole,
  withDefault,
} from '../argument.js'
import { defineFilter } from '../filter.js'
import type { Retry as RouteRetry } from '../route.js'
import { SERIES } from '../status.js'

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Of a route without the filter: what is safe goes to each other upstream once. Where there is no other, it goes to the
 * same once more if its connection was lost: that may have been one that was kept, and that the upstream closed just then.
 */
export function retryOnOthers(upstreams: number): RouteRetry {
  return {
    retries: Math.max(0, upstreams - 1),
    retriesIfLost: Math.max(1, upstreams - 1),
    methods: SAFE,
    isFailure: () => false,
    backoffMs: () => 0,
  }
}

const NOT_NEEDED = 'is not supported: lost connections and time-outs are always tried again; remove it'

export const Retry = defineFilter({
  example: 'Retry=3, BAD_GATEWAY, GET, 10ms, 50ms, 2, false',
  args: {
    retries: withDefault(whole(0, 100), 3),
    statuses: withDefault<readonly number[]>(listOf(status(100, 599), true), []),
    methods: withDefault<readonly string[]>(listOf(method), ['GET']),
    'backoff.firstBackoff': withDefault(durationMs, 0),
    'backoff.maxBackoff': withDefault(durationMs, 10_000),
    'backoff.factor': withDefault(number(1, 100), 2),
    /** Both ways come to the same waits. */
    'backoff.basedOnPreviousValue': withDefault(flag, true),
    series: withDefault<readonly number[]>(listOf(series, true), [SERIES.SERVER_ERROR!]),
    exceptions: refused(NOT_NEEDED),
    'jitter.randomFactor': refused('is not supported; remove it'),
    timeout: refused('is not supported; use headersTimeout on the route'),
  },
  shortcut: [
    'retries',
    'statuses',
    'methods',
    'backoff.firstBackoff',
    'backoff.maxBackoff',
    'backoff.factor',
    'backoff.basedOnPreviousValue',
  ],
  make(args) {
    const statuses = new Set(args.statuses)
    const hundreds = new Set(args.series)
    const [first, max, factor] = [
      args['backoff.firstBackoff'],
      args['backoff.maxBackoff'],
      args['backoff.factor'],
    ]
    if (first > max) throw unfit('must not be longer than maxBackoff', 'backoff.firstBackoff')
    return {
      retry: {
        retries: args.retries,
        retriesIfLost: args.retries,
        methods: new Set(args.methods),
        isFailure: (status) => statuses.has(status) || hundreds.has(Math.floor(status / 100)),
        backoffMs: (attempt) => Math.min(max, Math.round(first * factor ** Math.max(0, attempt - 1))),
      },
    }
  },
})

function series(value: unknown): number {
  const name = String(value).toUpperCase()
  if (Object.hasOwn(SERIES, name)) return SERIES[name]!
  throw unfit(`must be one of ${Object.keys(SERIES).join(', ')}, got ${shown(value)}`)
}
