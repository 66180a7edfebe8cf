import { expect, it } from 'vitest'
import { holds, hostileText } from '../../test/properties.js'
import { canonicalPath } from './path.js'
import { otherReadings, targetOf, targetReadings } from './target.js'

it.each([
  ['/login', '/login', ''],
  ['//login/?x=1', '/login', 'x=1'],
  ['http://host/login?x', '/login', 'x'],
])('%s: the canonical path and query', (url, path, query) => {
  expect(targetOf(url)).toStrictEqual({ path, query })
  expect(canonicalPath(url)).toStrictEqual({ path, query })
})

it.each([
  ['/login#x', '/login', ''],
  ['/login?a#b', '/login', 'a'],
  ['/login#x?a', '/login', ''],
  ['/%6cogin#x', '/login', ''],
  ['/login\\', '/login', ''],
  ['\\login', '/login', ''],
  ['/../login', '/login', ''],
  ['/a/..;/login', '/a/..;/login', ''],
  ['/files/a%2fb?x=1', '/files/a%2fb', 'x=1'],
  ['/%zz', '/%zz', ''],
  ['*', '/*', ''],
  ['http://host\\login', '/login', ''],
  ['', '/', ''],
])('%s has no canonical form: the path of routers', (url, path, query) => {
  expect(canonicalPath(url)).toBeUndefined()
  expect(targetOf(url)).toStrictEqual({ path, query })
})

it.each([
  ['x://y/login', '/login', ''],
  ['http:///login?x', '/login', 'x'],
  ['git+ssh://user@host:1/a/../login', '/login', ''],
])('%s: the path of some routers', (url, path, query) => {
  expect(targetOf(url)).toStrictEqual({ path, query })
})

it.each([
  ['/login', []],
  ['/a/b/?x=/./', []],
  ['/./login', ['/./login']],
  ['/en/%2E./login/', ['/en/../login']],
  ['//login', ['/./login']],
  ['/a//', ['/a/.']],
  ['/x\\y/login', ['/x\\y/login', '/x/y/login']],
  ['/..#/.', ['/..']],
  ['/a/..;v=1/login', ['/a/..;v=1/login', '/login']],
  ['/a/%2e%2E%3b/login', ['/a/..%3B/login', '/login']],
  ['/.;/login', ['/.;/login', '/login']],
  ['http://host/./login', ['/./login']],
])('%s can also be interpreted as %j', (url, paths) => {
  expect(otherReadings(url, () => undefined)).toStrictEqual(paths)
})

it('targetReadings() returns the path, the query and the other paths', () => {
  expect(targetReadings('/./login?x')).toStrictEqual({ path: '/login', query: 'x', otherPaths: ['/./login'] })
})

it('the end of the host in an absolute URL is that of the framework', () => {
  expect(otherReadings('x://y;z/login', () => '/;z/login')).toStrictEqual(['/;z/login'])
  expect(otherReadings('/login', () => '/elsewhere')).toStrictEqual([])
})

it('every target has a path without a query, a fragment or a backslash', () => {
  holds(
    hostileText(['/', '\\', '.', '..', '%2F', '%5C', '%', '?', '#', 'login', ';', 'http://host']),
    (url) => {
      expect(targetOf(url).path).toMatch(/^\/[^?#\\]*$/)
    },
  )
})
