import { canonicalPath } from '@tidegate/http'
import { quote } from '../../../config-file/config-error.js'
import { flag, invalid, listOf, optional, status, text, withDefault } from '../argument.js'
import { defineFilter, type FallbackTarget } from '../filter.js'

/** Stops sending requests to a failing upstream, and sends failed requests to a fallback. */
export const CircuitBreaker = defineFilter({
  example: '{ name: CircuitBreaker, args: { name: orders, fallbackUri: "forward:/fallback" } }',
  args: {
    name: optional(text),
    fallbackUri: optional(fallbackTarget),
    statusCodes: withDefault<readonly number[]>(listOf(status(200, 599), true), []),
    routeId: optional(text),
    resumeWithoutError: withDefault(neverResume, false),
  },
  shortcut: ['name', 'fallbackUri'],
  hasNamedShortcut: true,
  make: ({ name, fallbackUri, statusCodes }) => ({
    breaker: { name, fallback: fallbackUri, statuses: new Set(statusCodes) },
  }),
})

function neverResume(value: unknown): boolean {
  if (!flag(value)) return false
  throw invalid('must not be true, because failures would look like empty responses; write a fallbackUri')
}

function fallbackTarget(value: unknown): FallbackTarget {
  const target = text(value)
  const path = /^(?:forward:)?(\/(?!\/).*)$/.exec(target)?.[1]
  const isUrl = /^https?:\/\//i.test(target) && URL.canParse(target)
  const url = isUrl ? new URL(target) : undefined
  const canonical = canonicalPath(path ?? url?.pathname ?? '')
  if (canonical === undefined || canonical.query !== '' || url?.username || url?.search || url?.hash) {
    throw invalid(`${quote(target)} is not a valid fallback; write for example forward:/fallback`)
  }
  return { origin: url?.origin, path: canonical.path }
}
