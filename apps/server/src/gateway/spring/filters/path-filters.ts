import { canonicalPath } from '@tidegate/http'
import { quote } from '../../../config-file/config-error.js'
import { type Forward, NoCanonicalPath } from '../../route.js'
import { invalid, regExp, required, text, wholeNumber } from '../argument.js'
import { defineFilter } from '../filter.js'
import { javaReplacement } from '../java-replacement.js'
import { parsePlaceholders } from '../placeholders.js'

/*
 * Filters that change the path of a request. The result is converted to its canonical form again, because
 * joined parts can form segments such as `..`.
 */

export const StripPrefix = defineFilter({
  example: 'StripPrefix=1',
  args: { parts: required(wholeNumber(0, 100)) },
  make: ({ parts }) => ({
    request(forward) {
      const { path } = forward
      let at = 0
      for (let left = parts; left > 0 && at >= 0; left--) at = path.indexOf('/', at + 1)
      forward.path = at < 0 ? '/' : path.slice(at)
    },
  }),
})

export const PrefixPath = defineFilter({
  example: 'PrefixPath=/mypath',
  args: { prefix: required(pathText) },
  make({ prefix }, site) {
    const parsed = parsePlaceholders(prefix, site, 'prefix')
    return {
      request(forward) {
        const before = typeof parsed === 'string' ? parsed : parsed(forward.request)
        setPath(forward, `${before}${forward.path}`)
      },
    }
  },
})

export const SetPath = defineFilter({
  example: 'SetPath=/{segment}',
  args: { template: required(pathText) },
  make({ template }, site) {
    const parsed = parsePlaceholders(template, site, 'template')
    if (typeof parsed === 'string') {
      const { path } = canonicalPath(parsed)!
      return {
        request(forward) {
          forward.path = path
        },
      }
    }
    return { request: (forward) => setPath(forward, parsed(forward.request)) }
  },
})

/** Finding many matches can take time quadratic in the path, so their number is bounded. */
const MAX_REPLACEMENTS = 1000

export const RewritePath = defineFilter({
  example: 'RewritePath=/red/?(?<segment>.*), /$\\{segment}',
  args: { regexp: required(regExp), replacement: required(replacementText) },
  make({ regexp, replacement }) {
    const replace = inField('replacement', () => javaReplacement(replacement, regexp))
    return {
      request(forward) {
        const { path } = forward
        let rewritten = ''
        let at = 0
        let count = 0
        for (const match of regexp.matchAll(path)) {
          if (++count > MAX_REPLACEMENTS) throw new NoCanonicalPath()
          const { index = 0 } = match
          rewritten += path.slice(at, index) + replace(match)
          at = index + match[0].length
        }
        setPath(forward, rewritten + path.slice(at))
      },
    }
  },
})

function setPath(forward: Forward, path: string): void {
  if (path === forward.path) return
  const canonical = canonicalPath(path.startsWith('/') ? path : `/${path}`)
  if (canonical === undefined || canonical.query !== '') throw new NoCanonicalPath()
  forward.path = canonical.path
}

/** A path in which every `{name}` matches any segment. */
function pathText(value: unknown): string {
  const written = text(value)
  const path = written.replace(/[^!-~]+/g, encodeURIComponent)
  const trial = path.replace(/\{[A-Za-z_][\w-]*\}/g, 'x')
  if (path.startsWith('/') && !/[?{}]/.test(trial) && canonicalPath(trial) !== undefined) return path
  throw invalid(
    `${quote(written)} is not a valid path; write for example /mypath or /{segment}, without a query`,
  )
}

function replacementText(value: unknown): string {
  // An empty replacement is valid: it removes the match.
  const replacement = value === '' ? value : text(value)
  if (!/[?#\s]/.test(replacement)) return replacement
  throw invalid(
    `${quote(replacement)} must not contain ?, # or spaces; the query is forwarded unchanged, and a space is written %20`,
  )
}

function inField<T>(field: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw invalid((error as Error).message, field)
  }
}
