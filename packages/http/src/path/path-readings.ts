import type { RequestFacts } from '../request.js'

/** A path that caches its segments, because many patterns may be matched against it. */
export class PathText {
  readonly path: string
  private splitPath: readonly string[] | undefined
  private splitLower: readonly string[] | undefined

  constructor(path: string) {
    this.path = path
  }

  get segments(): readonly string[] {
    this.splitPath ??= segmentsOf(this.path)
    return this.splitPath
  }

  get lowerCaseSegments(): readonly string[] {
    this.splitLower ??= segmentsOf(this.path.toLowerCase())
    return this.splitLower
  }
}

/** The interpretations of a request's path by different servers. */
export interface PathReadings {
  /** All interpretations; the canonical path comes first. */
  readonly all: readonly PathText[]
  /** The canonical path as lenient servers interpret it. */
  readonly lenient: PathText
}

const readings = new WeakMap<RequestFacts, PathReadings>()

/** Returns the interpretations of a request's path. They are computed once per request, not once per rule. */
export function pathReadings(request: RequestFacts): PathReadings {
  let found = readings.get(request)
  if (found === undefined) {
    const { path, otherPaths } = request
    const canonical = new PathText(path)
    const lenient = lenientPath(path)
    if (lenient === path && (otherPaths === undefined || otherPaths.length === 0)) {
      found = { all: [canonical], lenient: canonical }
    } else {
      const others = (otherPaths ?? []).flatMap((other) => [other, lenientPath(other)])
      const all = [...new Set([path, lenient, ...others])].map((text) =>
        text === path ? canonical : new PathText(text),
      )
      found = { all, lenient: lenient === path ? canonical : all[1]! }
    }
    readings.set(request, found)
  }
  return found
}

/**
 * The path without parameters of segments (`/login;v=1`), and with decoded escapes of characters that need no escape: the
 * interpretation of lenient servers.
 */
function lenientPath(path: string): string {
  if (!/[;%]/.test(path)) return path
  const withoutParameters = path.replace(/;[^/]*/g, '').replace(/\/{2,}/g, '/')
  const lenient = decodeUnreserved(withoutParameters)
  return lenient.length > 1 && lenient.endsWith('/') ? lenient.slice(0, -1) : lenient || '/'
}

/** Decodes the escapes of `!$&'()*+,;=:@`. */
export function decodeUnreserved(path: string): string {
  return path.replace(/%(?:2[1467-9A-C]|3[ABD]|40)/g, (triplet) =>
    String.fromCharCode(Number.parseInt(triplet.slice(1), 16)),
  )
}

function segmentsOf(path: string): readonly string[] {
  return path === '/' ? [] : path.slice(1).split('/')
}
