import { commaList } from '../../config-file/comma-list.js'
import { type Path, quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { collectError } from '../../config-file/factory.js'
import { compileRegExp } from '../../linear-regexp.js'
import type { CorsRule } from '../cors/cors.js'
import { invalid } from '../spring/argument.js'
import { anyHeaderName } from '../spring/header-names.js'
import { parsePathPattern } from '../spring/path-pattern.js'
import { parseSpringDuration } from './spring-duration.js'
import { SPRING_PLACES } from './spring-file.js'

const PLACES: readonly Path[] = [
  ['gateway', 'cors'],
  ...SPRING_PLACES.map((place) => [...place, 'globalcors', 'cors-configurations']),
]

/** The rules of `gateway.cors` and of Spring's `globalcors`, in the order of the file. */
export function readCorsRules(document: ConfigDocument): CorsRule[] {
  return PLACES.flatMap((place) => {
    const rules = document.at(place)
    if (typeof rules !== 'object' || rules === null || Array.isArray(rules)) return []
    return Object.keys(rules).flatMap((pattern) => ruleAt(document, [...place, pattern], pattern) ?? [])
  })
}

function ruleAt(document: ConfigDocument, path: Path, pattern: string): CorsRule | undefined {
  const entry = document.at(path)
  if (typeof entry !== 'object' || entry === null || !document.isValid(path)) return undefined
  const listAt = (name: string) => commaList(document.at([...path, name]))
  const origins = listAt('allowedOrigins')
  const patterns = listAt('allowedOriginPatterns')
  const allowCredentials = document.at([...path, 'allowCredentials']) === true
  if (origins.length + patterns.length === 0) {
    document.addError(
      path,
      'allowedOrigins is missing; write for example allowedOrigins: [https://app.example.com]',
      'key',
    )
  }
  if (origins.includes('*') && allowCredentials) {
    document.addError(
      [...path, 'allowedOrigins'],
      'must not be * with allowCredentials, because any page could then use the credentials of its visitors; list the origins, or use allowedOriginPatterns',
    )
  }
  let compiled: CorsRule['pattern'] | undefined
  collectError(document, path, () => {
    compiled = parsePathPattern(pattern)
  })
  const matchers = patterns.flatMap((text) => {
    let matches: ((origin: string) => boolean) | undefined
    collectError(document, [...path, 'allowedOriginPatterns'], () => {
      matches = originMatcher(text)
    })
    return matches ?? []
  })
  for (const origin of origins) checkOrigin(document, [...path, 'allowedOrigins'], origin)
  const allowedOrigins = new Set(origins.map(normalizeOrigin))
  const methods =
    document.at([...path, 'allowedMethods']) === undefined ? ['GET', 'HEAD'] : listAt('allowedMethods')
  const headers = listAt('allowedHeaders')
  for (const name of ['allowedHeaders', 'exposedHeaders']) {
    for (const header of listAt(name)) collectError(document, [...path, name], () => anyHeaderName(header))
  }
  const maxAgeSeconds = maxAgeAt(document, [...path, 'maxAge'])
  if (!document.isValid(path) || compiled === undefined) return undefined
  return Object.freeze({
    pattern: compiled,
    allowsAll: allowedOrigins.has('*'),
    allowsOrigin: (origin: string) =>
      allowedOrigins.has(normalizeOrigin(origin)) || matchers.some((matches) => matches(origin)),
    methods: methods.includes('*') ? undefined : new Set(methods.map((method) => method.toUpperCase())),
    headers: headers.includes('*') ? undefined : new Set(headers.map((header) => header.toLowerCase())),
    exposedHeaders: listAt('exposedHeaders'),
    allowCredentials,
    maxAgeSeconds,
  })
}

function checkOrigin(document: ConfigDocument, path: Path, origin: string): void {
  if (origin === '*' || origin === 'null' || /^[a-z][a-z\d+.-]*:\/\/[^/?#\s*]+\/?$/i.test(origin)) return
  const isPattern = origin.includes('*')
  const problem = isPattern
    ? 'contains *; move it to allowedOriginPatterns'
    : 'is not an origin; write scheme, host and port, such as https://app.example.com'
  document.addError(path, `${quote(origin)} ${problem}`)
}

function normalizeOrigin(origin: string): string {
  return origin.toLowerCase().replace(/\/$/, '')
}

/** Compiles `https://*.example.com`, with ports as `:[8080,8081]` or `:[*]`. */
function originMatcher(pattern: string): (origin: string) => boolean {
  if (pattern === '*') return () => true
  const [, host = '', ports] = /^(.*?)(?::\[([\d,*]+)\])?\/?$/.exec(pattern) ?? []
  const source = host
    .split('*')
    .map((piece) => piece.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
    .join('[^/]*')
  const port = ports === undefined ? '' : ports === '*' ? '(?::\\d+)?' : `:(?:${ports.replaceAll(',', '|')})`
  const compiled = compileRegExp(`(?i)${source}${port}`)
  if ('problem' in compiled)
    throw invalid(`${quote(pattern)} is not a valid origin pattern; write for example https://*.example.com`)
  return (origin) => compiled.test(origin)
}

/** Reads `maxAge`. As in Spring, a number is in seconds. */
function maxAgeAt(document: ConfigDocument, path: Path): number {
  const value = document.at(path) ?? document.schemaAt(path)?.default
  if (!document.isValid(path)) return 0
  const seconds = /^\d+$/.test(String(value))
    ? Number(value)
    : (parseSpringDuration(value) ?? Number.NaN) / 1000
  if (Number.isInteger(seconds) && seconds <= MAX_AGE_SECONDS) return seconds
  document.addError(
    path,
    `must be whole seconds up to a year, such as 3600 or 1h, got ${JSON.stringify(value)}`,
  )
  return 0
}

const MAX_AGE_SECONDS = 31_536_000
