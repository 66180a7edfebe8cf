import { type CanonicalTarget, canonicalPath } from './path.js'

/**
 * A path for every target, also for one that has no canonical form. A middleware cannot refuse those: whether
 * `/files/a%2Fb` means something is for the application to say. It gets the path that routers see: `#` ends
 * it (Express cuts it off, and `/login#x` must not be a way around a rule for `/login`), `\` is a slash, `%2F`
 * is not, and what is broken stays as it is.
 */
export function targetOf(url: string): CanonicalTarget {
  return canonicalPath(url) ?? routedTarget(url)
}

/**
 * What else routers may read in a target. Those of Express, Fastify and Koa do not resolve `.` and `..`: to them
 * `/./login` is a `/{locale}/login`, and so is `/a\b/login` to those for whom `\` is an ordinary character. A segment
 * with nothing in it, which can be a parameter too, is written as a dot. Nearly all targets can be read one way only.
 * `routed` is the path that the framework has read, if it says.
 */
export function otherReadings(url: string, routed: () => string | undefined): readonly string[] {
  // A whole URL, of which clients send few. Where its host ends is for the framework to say.
  const known = url[0] === '/' ? undefined : routed()
  if (known !== undefined) return [unresolved(known)]
  const { raw } = splitTarget(url)
  if (!/\/[./]|\\|%2e/i.test(raw)) return NO_OTHERS
  const readings = [unresolved(raw)]
  if (raw.includes('\\')) readings.push(unresolved(raw.replaceAll('\\', '/')))
  return readings
}

const NO_OTHERS: readonly string[] = []

function routedTarget(url: string): CanonicalTarget {
  const { raw, query } = splitTarget(url)
  const segments: string[] = []
  for (const rawSegment of raw.split(/[/\\]/)) {
    const segment = canonicalSegment(rawSegment)
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  return { path: `/${segments.join('/')}`, query }
}

/** Without scheme and host, whatever they are: some routers take any, and none at all. */
function splitTarget(url: string): { raw: string; query: string } {
  const target = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#\\]*/i, '')
  const end = target.search(/[?#]/)
  return {
    raw: end < 0 ? target : target.slice(0, end),
    query: target[end] === '?' ? target.slice(end + 1).replace(/#.*$/s, '') : '',
  }
}

function unresolved(raw: string): string {
  const segments = raw.replace(/^\//, '').split('/')
  if (segments.at(-1) === '') segments.pop()
  return `/${segments.map((segment) => canonicalSegment(segment) || '.').join('/')}`
}

/** As in other paths, if it can be. */
function canonicalSegment(segment: string): string {
  const path = canonicalPath(`/x${segment}`)?.path
  return path === undefined ? segment : path.slice(2)
}
