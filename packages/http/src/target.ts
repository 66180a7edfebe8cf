import { type CanonicalTarget, canonicalPath } from './path.js'

/**
 * A path for every target, also for one that has no canonical form. A middleware cannot refuse those: whether
 * `/files/a%2Fb` means something is for the application to say. It gets the path that routers see: `#` ends
 * it (Express cuts it off, and `/login#x` must not be a way around a rule for `/login`), `\` is a slash, `%2F`
 * is not, and what is broken stays as it is.
 */
export function targetOf(url: string): CanonicalTarget {
  return canonicalPath(url) ?? routedPath(url)
}

function routedPath(url: string): CanonicalTarget {
  const target = url.replace(/^https?:\/\/[^/?#\\]+/i, '')
  const end = target.search(/[?#]/)
  const raw = end < 0 ? target : target.slice(0, end)
  const segments: string[] = []
  for (const segment of raw.split(/[/\\]/)) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(canonicalSegment(segment))
  }
  const query = target[end] === '?' ? target.slice(end + 1).replace(/#.*$/s, '') : ''
  return { path: `/${segments.join('/')}`, query }
}

/** As in other paths, if it can be. */
function canonicalSegment(segment: string): string {
  const path = canonicalPath(`/${segment}`)?.path
  return path === undefined || path === '/' ? segment : path.slice(1)
}
