import { formatValue } from '../../../config-file/value-kinds.js'
import { invalid, listOf, required, scalarText, text, withDefault } from '../argument.js'
import { defineFilter } from '../filter.js'
import { headerName } from '../header-names.js'

const STRATEGIES = ['RETAIN_FIRST', 'RETAIN_LAST', 'RETAIN_UNIQUE'] as const

/** Keeps one value of headers that both the upstream and the gateway write. */
export const DedupeResponseHeader = defineFilter({
  example: 'DedupeResponseHeader=Access-Control-Allow-Origin Access-Control-Allow-Credentials, RETAIN_FIRST',
  args: {
    name: required((value) => text(value).trim().split(/\s+/).map(headerName)),
    strategy: withDefault(strategy, 'RETAIN_FIRST'),
  },
  make: ({ name: names, strategy }) => ({
    response({ headers }) {
      for (const name of names) {
        const values = headers.get(name)
        if (!Array.isArray(values) || values.length < 2) continue
        if (strategy === 'RETAIN_UNIQUE') headers.set(name, [...new Set(values)])
        else headers.set(name, values.at(strategy === 'RETAIN_FIRST' ? 0 : -1)!)
      }
    },
  }),
})

function strategy(value: unknown): (typeof STRATEGIES)[number] {
  const strategy = STRATEGIES.find((name) => name === scalarText(value).toUpperCase())
  if (strategy !== undefined) return strategy
  throw invalid(`must be one of ${STRATEGIES.join(', ')}, got ${formatValue(value)}`)
}

/** Spring's security headers. Those of the upstream take precedence. */
const SECURE: Readonly<Record<string, string>> = {
  'x-xss-protection': '1 ; mode=block',
  'strict-transport-security': 'max-age=631138519',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'self' https:; font-src 'self' https: data:; img-src 'self' https: data:; object-src 'none'; script-src https:; style-src 'self' https: 'unsafe-inline'",
  'x-download-options': 'noopen',
  'x-permitted-cross-domain-policies': 'none',
}

export const SecureHeaders = defineFilter({
  example: 'SecureHeaders',
  args: { disable: withDefault<readonly string[]>(listOf(securityHeader, true), []) },
  shortcut: [],
  make: ({ disable }) => ({
    response({ headers }) {
      for (const [name, value] of Object.entries(SECURE)) {
        if (!headers.has(name) && !disable.includes(name)) headers.set(name, value)
      }
    },
  }),
})

function securityHeader(value: unknown): string {
  const name = text(value).toLowerCase()
  if (Object.hasOwn(SECURE, name)) return name
  throw invalid(`must be one of ${Object.keys(SECURE).join(', ')}, got ${formatValue(value)}`)
}
