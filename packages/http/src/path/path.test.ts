import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds, hostileText } from '../../test/properties.js'
import { canonicalPath } from './path.js'

const pathOf = (target: string) => canonicalPath(target)?.path

describe('the canonical path', () => {
  it.each([
    '/login',
    '/login?x=1',
    '/login?',
    '/login?a=/b/../c//%zz\\',
    '/login/',
    '/login//',
    '//login',
    '///login',
    '/%6cogin',
    '/%6Cogin',
    '/%6c%6f%67%69%6e',
    '/./login',
    '/login/.',
    '/login/./',
    '/a/../login',
    '/a/b/../../login',
    '/a//../login',
    '/%2e/login',
    '/a/%2e%2E/login',
    '/a/.%2e/login',
    '/login/x/..',
    'http://example.com/login',
    'HTTP://example.com:8080/login?x=1',
    'https://user:password@[::1]:443//login/',
  ])('of %s is /login', (target) => {
    expect(pathOf(target)).toBe('/login')
  })

  it.each([
    ['/', '/'],
    ['//', '/'],
    ['/.', '/'],
    ['/a/..', '/'],
    ['/?x', '/'],
    ['http://example.com', '/'],
    ['http://example.com?x=1', '/'],
    // letter case is left to the application
    ['/Login', '/Login'],
    // reserved and invalid characters stay escaped, in upper case
    ['/a%3fb', '/a%3Fb'],
    ['/a%23b', '/a%23b'],
    ['/a%25b', '/a%25b'],
    ['/a%252fb', '/a%252fb'],
    ['/%40me', '/%40me'],
    ['/@me', '/@me'],
    ["/a!$&'()*+,;=:@b", "/a!$&'()*+,;=:@b"],
    ['/%41%2d%2E%5f%7e', '/A-._~'],
    // characters that need an escape get one
    ['/a b', '/a%20b'],
    ['/a"<>^`{|}[]b', '/a%22%3C%3E%5E%60%7B%7C%7D%5B%5Db'],
    // bytes above 127, as Node passes them, are the same as their escapes
    ['/caf\u00c3\u00a9', '/caf%C3%A9'],
    ['/caf%c3%a9', '/caf%C3%A9'],
    // dots without a meaning
    ['/...', '/...'],
    ['/.git/config', '/.git/config'],
    ['/a..b/.c', '/a..b/.c'],
    ['/..a', '/..a'],
    ['/;a', '/;a'],
    // a host in the path is part of the path
    ['//example.com/login', '/example.com/login'],
    ['/http://example.com/login', '/http:/example.com/login'],
  ])('of %s is %s', (target, path) => {
    expect(pathOf(target)).toBe(path)
  })

  it.each([
    ['nothing', ''],
    ['an asterisk', '*'],
    ['a host and port', 'example.com:443'],
    ['a name', 'login'],
    ['only a query', '?x=1'],
    ['another scheme', 'ftp://example.com/login'],
    ['no host', 'http:///login'],
    ['a backslash in the host', 'http://example.com\\@other/login'],
    ['an empty escape', '/%'],
    ['an escape of one digit', '/%6'],
    ['an invalid escape', '/%zz'],
    ['an escape with a sign', '/%+1'],
    ['NUL', '/a\0b'],
    ['an escaped NUL', '/a%00b'],
    ['a line break', '/a\r\nb'],
    ['an escaped line break', '/a%0d%0ab'],
    ['a tab', '/a\tb'],
    ['DEL', '/a\x7fb'],
    ['an escaped DEL', '/a%7fb'],
    ['an escaped slash', '/a%2fb'],
    ['an escaped slash between dots', '/a/..%2flogin'],
    ['a backslash', '/a\\b'],
    ['an escaped backslash', '/a%5cb'],
    ['above the root', '/..'],
    ['above the root, escaped', '/%2e%2e/login'],
    ['above the root on the way', '/a/../../b/login'],
    ['dots with parameters', '/a/..;/login'],
    ['dots with parameters, escaped', '/a/%2e%2e%3bx/login'],
    ['one dot with parameters', '/.;x/login'],
    ['a fragment', '/login#x'],
    ['a fragment after the query', '/login?x#y'],
    ['a control character in the query', '/login?x=\n'],
    ['a character outside of Latin-1', '/名'],
  ])('does not exist for %s', (_title, target) => {
    expect(canonicalPath(target)).toBeUndefined()
  })

  it('comes with the query as it was sent', () => {
    expect(canonicalPath('/a?b=%6c&c=/../?d')).toStrictEqual({ path: '/a', query: 'b=%6c&c=/../?d' })
    expect(canonicalPath('/a?')).toStrictEqual({ path: '/a', query: '' })
    expect(canonicalPath('/a')).toStrictEqual({ path: '/a', query: '' })
  })
})

describe('every target', () => {
  const pieces = [
    '/',
    '//',
    '.',
    '..',
    '/../',
    '%2e',
    '%2F',
    '%5c',
    '%',
    '%6c',
    'a',
    'B',
    ';',
    '?',
    '#',
    '\\',
    'http://h',
    '@',
    '%e9',
    '\u00ff',
  ]

  it('has a canonical path that is its own canonical path, or none', () => {
    let found = 0
    holds(
      fc.oneof(
        hostileText(pieces),
        hostileText(pieces).map((text) => `/${text}`),
        fc
          .array(fc.constantFrom('/', '/', 'a', '.', '..', '%2e', '%6C', ';', '%3b', ' '), { maxLength: 12 })
          .map((all) => `/${all.join('')}`),
      ),
      (target) => {
        const path = pathOf(target)
        if (path === undefined) return
        found++
        expect(canonicalPath(path)).toStrictEqual({ path, query: '' })
        expect(canonicalPath(`${path}?x`)).toStrictEqual({ path, query: 'x' })
        expect(path).toMatch(/^\/(?:[\w.~!$&'()*+,;=:@-]|%[\dA-F]{2}|\/(?!\/|$))*$/)
        expect(path.split('/')).not.toContain('..')
        expect(path.split('/')).not.toContain('.')
      },
      3000,
    )
    expect(found).toBeGreaterThan(500)
  })

  it('has the same canonical path in every spelling', () => {
    const segment = fc.array(fc.constantFrom('a', 'Z', '0', '-', '_', '~', '@', ':', '%20', '%C3%A9'), {
      minLength: 1,
      maxLength: 4,
    })
    const noise = fc.constantFrom('', '', '/', '/.', '/%2e', '/x/..', '/%78/%2E.')
    const how = fc.record({ segment, noise, isEscaped: fc.boolean() })
    holds(
      fc.tuple(fc.array(how, { maxLength: 4 }), noise, fc.constantFrom('', '?', '?a=1', '?/..')),
      ([parts, end, query]) => {
        const path = `/${parts.map((part) => part.segment.join('')).join('/')}`
        const written = parts.map((part) => {
          const text = part.segment.map((piece) => {
            const isPlain = part.isEscaped && /^[\w~-]$/.test(piece)
            return isPlain
              ? `%${piece.charCodeAt(0).toString(16)}`
              : piece.toLowerCase() === '%c3%a9'
                ? piece.toLowerCase()
                : piece
          })
          return `${part.noise}/${text.join('')}`
        })
        expect(canonicalPath(`${written.join('')}${end}/${query}`)?.path).toBe(path)
      },
    )
  })

  it('is read in linear time', () => {
    const many = 200_000
    expect(pathOf('/a'.repeat(many))?.length).toBe(2 * many)
    expect(pathOf('/a/..'.repeat(many))).toBe('/')
    expect(pathOf('/'.repeat(many))).toBe('/')
    expect(pathOf('/%61'.repeat(many))?.length).toBe(2 * many)
    expect(pathOf(`/${'%'.repeat(many)}`)).toBeUndefined()
  }, 10_000)
})
