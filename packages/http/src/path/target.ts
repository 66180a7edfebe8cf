import { type CanonicalTarget, canonicalPath } from './path.js'

/**
 * Returns a path for every target, even without a canonical form, because middleware cannot reject targets that the
 * application may accept, such as `/files/a%2Fb`. Interprets the target like routers: `#` ends the path, so that `/login#x`
 * does not bypass a rule for `/login`; `\` is a slash, `%2F` is not, and malformed escapes are kept.
 */
export function targetOf(url: string): CanonicalTarget {
  return canonicalPath(url) ?? routedTarget(url)
}

/** Returns the path and query of a target, and the other paths that routers may interpret it as. */
export function targetReadings(url: string): CanonicalTarget & { readonly otherPaths: readonly string[] } {
  return { ...targetOf(url), otherPaths: otherReadings(url, () => undefined) }
}

/**
 * Returns other paths that routers may interpret a target as. Express, Fastify and Koa do not resolve `.` and `..`: for them
 * `/./login` matches `/{locale}/login`, and so does `/a\b/login` if `\` is an ordinary character. An empty segment, which
 * can match a parameter too, is returned as a dot. Nearly all targets have a single interpretation. `routed` returns the
 * path that the framework uses, if it exposes one.
 */
export function otherReadings(url: string, routed: () => string | undefined): readonly string[] {
  // Frameworks disagree about the end of the host in an absolute URL, so the framework's own path is used.
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
