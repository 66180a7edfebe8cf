import { formatValue } from '../../../config-file/value-kinds.js'
import type { Retry as RouteRetry } from '../../route.js'
import {
  durationMs,
  flag,
  invalid,
  listOf,
  method,
  number,
  scalarText,
  status,
  unsupported,
  wholeNumber,
  withDefault,
} from '../argument.js'
import { defineFilter } from '../filter.js'
import { SERIES } from '../status-names.js'

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * The retries of a route without the filter: a safe request is sent once to each other upstream. With only one upstream, it
 * is sent once more after a lost connection, because the upstream may have closed an idle connection at that moment.
 */
export function defaultRetry(upstreams: number): RouteRetry {
  return {
    retries: Math.max(0, upstreams - 1),
    retriesIfLost: Math.max(1, upstreams - 1),
    methods: SAFE,
    isFailure: () => false,
    backoffMs: () => 0,
  }
}

export const Retry = defineFilter({
  example: 'Retry=3, BAD_GATEWAY, GET, 10ms, 50ms, 2, false',
  args: {
    retries: withDefault(wholeNumber(0, 100), 3),
    statuses: withDefault<readonly number[]>(listOf(status(100, 599), true), []),
    methods: withDefault<readonly string[]>(listOf(method), ['GET']),
    'backoff.firstBackoff': withDefault(durationMs, 0),
    'backoff.maxBackoff': withDefault(durationMs, 10_000),
    'backoff.factor': withDefault(number(1, 100), 2),
    /** Has no effect: the waits are the same with both values. */
    'backoff.basedOnPreviousValue': withDefault(flag, true),
    series: withDefault<readonly number[]>(listOf(series, true), [SERIES.SERVER_ERROR!]),
    exceptions: withDefault<readonly string[]>(listOf(exception, true), []),
    'jitter.randomFactor': unsupported('is not supported; remove it'),
    timeout: unsupported('is not supported; use headersTimeout on the route'),
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
    if (first > max)
      throw invalid(`must be at most maxBackoff (${max} ms), got ${first} ms`, 'backoff.firstBackoff')
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

/** Lost connections and timeouts are always retried; other exceptions do not exist here. */
function exception(value: unknown): string {
  const name = scalarText(value)
  if (/(^|\.)(IOException|TimeoutException|ConnectException)$/.test(name)) return name
  throw invalid(
    `${formatValue(value)} is not supported: lost connections and timeouts are always retried; remove it`,
  )
}

function series(value: unknown): number {
  const name = scalarText(value).toUpperCase()
  if (Object.hasOwn(SERIES, name)) return SERIES[name]!
  throw invalid(`must be one of ${Object.keys(SERIES).join(', ')}, got ${formatValue(value)}`)
}
