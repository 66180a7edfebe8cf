import { type CanonicalTarget, canonicalPath } from './path.js'

/**
 * A path for every target, also for one without a canonical form. Middleware cannot reject such a target, because an
 * application may accept `/files/a%2Fb`. The path is the one that routers read: `#` ends it, so that `/login#x` is not a
 * way around a rule for `/login`; `\` is a slash, `%2F` is not, and malformed escapes stay.
 */
export function targetOf(url: string): CanonicalTarget {
  return canonicalPath(url) ?? routedTarget(url)
}

/** The path and query of a target, and the other paths that routers may read in it: the facts of a described request. */
export function targetReadings(url: string): CanonicalTarget & { readonly otherPaths: readonly string[] } {
  return { ...targetOf(url), otherPaths: otherReadings(url, () => undefined) }
}

/**
 * Other paths that routers may read in a target. Express, Fastify and Koa do not resolve `.` and `..`: for them `/./login`
 * matches `/{locale}/login`, and so does `/a\b/login` where `\` is an ordinary character. An empty segment, which can
 * match a parameter too, is written as a dot. Nearly all targets have one reading. `routed` returns the path that the
 * framework has read, if it exposes one.
 */
export function otherReadings(url: string, routed: () => string | undefined): readonly string[] {
  // Frameworks disagree about where the host of a whole URL ends, so the framework's own reading is used.
  const routedPath = url[0] === '/' ? undefined : routed()
  if (routedPath !== undefined) return [unresolvedPath(routedPath)]
  const { raw } = splitTarget(url)
  if (!/\/[./]|\\|%2e/i.test(raw)) return NO_OTHERS
  const readings = [unresolvedPath(raw)]
  if (raw.includes('\\')) readings.push(unresolvedPath(raw.replaceAll('\\', '/')))
  // Tomcat removes the parameters of segments first and then resolves the dots: `/x/..;/login` is `/login`.
  const withoutParameters = raw.replace(/(?:;|%3b)[^/\\]*/gi, '')
  if (withoutParameters !== raw) readings.push(routedTarget(withoutParameters).path)
  return readings
}

const NO_OTHERS: readonly string[] = []

function routedTarget(url: string): CanonicalTarget {
  const { raw, query } = splitTarget(url)
  const segments: string[] = []
  for (const rawSegment of raw.split(/[/\\]/)) {
    const segment = canonicalOrSame(rawSegment)
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  return { path: `/${segments.join('/')}`, query }
}

/** Removes any scheme and host: some routers accept every scheme, and an empty host. */
function splitTarget(url: string): { raw: string; query: string } {
  const target = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#\\]*/i, '')
  const end = target.search(/[?#]/)
  return {
    raw: end < 0 ? target : target.slice(0, end),
    query: target[end] === '?' ? target.slice(end + 1).replace(/#.*$/s, '') : '',
  }
}

/** The canonical spelling of each segment, without resolving `.` and `..`. */
function unresolvedPath(raw: string): string {
  const segments = raw.replace(/^\//, '').split('/')
  if (segments.at(-1) === '') segments.pop()
  return `/${segments.map((segment) => canonicalOrSame(segment) || '.').join('/')}`
}

/** The canonical spelling of a segment, or the segment itself if it has none. */
function canonicalOrSame(segment: string): string {
  const path = canonicalPath(`/x${segment}`)?.path
  return path === undefined ? segment : path.slice(2)
}
