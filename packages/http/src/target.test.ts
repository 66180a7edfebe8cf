import { expect, it } from 'vitest'
import { holds, hostileText } from '../test/properties.js'
import { canonicalPath } from './path.js'
import { otherReadings, targetOf } from './target.js'

it.each([
  ['/login', '/login', ''],
  ['//login/?x=1', '/login', 'x=1'],
  ['http://host/login?x', '/login', 'x'],
])('%s has a canonical form, and gets it', (url, path, query) => {
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
])('%s has none, and gets the path that routers see', (url, path, query) => {
  expect(canonicalPath(url)).toBeUndefined()
  expect(targetOf(url)).toStrictEqual({ path, query })
})

it.each([
  ['x://y/login', '/login', ''],
  ['http:///login?x', '/login', 'x'],
  ['git+ssh://user@host:1/a/../login', '/login', ''],
])('%s is a path to some routers', (url, path, query) => {
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
  ['http://host/./login', ['/./login']],
])('%s may also be read as %j', (url, paths) => {
  expect(otherReadings(url, () => undefined)).toStrictEqual(paths)
})

it('where the host of a whole URL ends is for the framework to say', () => {
  expect(otherReadings('x://y;z/login', () => '/;z/login')).toStrictEqual(['/;z/login'])
  expect(otherReadings('/login', () => '/elsewhere')).toStrictEqual([])
})

it('whatever the target is, there is a path, and no query, fragment or backslash in it', () => {
  holds(
    hostileText(['/', '\\', '.', '..', '%2F', '%5C', '%', '?', '#', 'login', ';', 'http://host']),
    (url) => {
      expect(targetOf(url).path).toMatch(/^\/[^?#\\]*$/)
    },
  )
})
