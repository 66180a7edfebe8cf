import { describe, expect, it } from 'vitest'
import { parseRedisUrl } from './connect.js'

const base = { path: '', username: undefined, password: undefined }

describe('an address', () => {
  it.each([
    ['redis://localhost', { ...base, scheme: 'redis', hosts: [{ host: 'localhost', port: 6379 }] }],
    [
      'redis://localhost:6380/3',
      { ...base, scheme: 'redis', hosts: [{ host: 'localhost', port: 6380 }], path: '3' },
    ],
    ['redis://[::1]:6380', { ...base, scheme: 'redis', hosts: [{ host: '::1', port: 6380 }] }],
    [
      'rediss://ann:p%40ss%3Aword@db.example:1',
      {
        ...base,
        scheme: 'rediss',
        hosts: [{ host: 'db.example', port: 1 }],
        username: 'ann',
        password: 'p@ss:word',
      },
    ],
    [
      'redis://:secret@h',
      { ...base, scheme: 'redis', hosts: [{ host: 'h', port: 6379 }], password: 'secret' },
    ],
    [
      'redis+sentinel://a,b:26380/main',
      {
        ...base,
        scheme: 'redis+sentinel',
        hosts: [
          { host: 'a', port: 26379 },
          { host: 'b', port: 26380 },
        ],
        path: 'main',
      },
    ],
    [
      'redis+cluster://u:p@a:7000,b:7001',
      {
        ...base,
        scheme: 'redis+cluster',
        hosts: [
          { host: 'a', port: 7000 },
          { host: 'b', port: 7001 },
        ],
        username: 'u',
        password: 'p',
      },
    ],
  ])('parses %s', (url, expected) => {
    expect(parseRedisUrl(url)).toStrictEqual(expected)
  })

  it.each([
    ['localhost:6379', 'redis://host:6379'],
    ['http://localhost', 'redis://host:6379'],
    ['redis://', 'the format is wrong'],
    ['redis://a,b', 'redis+sentinel://'],
    ['redis://a:99999', 'host and a port'],
    ['redis://a:6379:1', 'host and a port'],
    ['redis://a/main', 'must be a number'],
    ['redis+sentinel://a,b', "primary's name"],
    ['redis+cluster://a/1', 'only one database'],
    ['redis://a?db=1', 'the format is wrong'],
    ['redis://:100%@a', 'write %25'],
    ['redis://:p@ss@a', '%40'],
  ])('rejects %s with advice', (url, expectedText) => {
    expect(() => parseRedisUrl(url)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(expectedText) }),
    )
  })

  it.each([
    'redis://ann:secret@a,b',
    'redis://ann:secret/secret@a',
    'redis://ann:1/secret@a',
    'redis://ann:se@secret@a',
    'redis://ann:secret%@a',
    'redis:secret@a',
    'redis:ann:secret@a',
    'redis:/:secret@a',
    'redis+cluster:secret@a,b',
    ':secret@a',
    'secret@a',
  ])('never shows the password of %s', (url) => {
    let message = ''
    try {
      parseRedisUrl(url)
    } catch (error) {
      message = String(error)
    }
    expect(message).toContain('is not a valid Redis address')
    expect(message).not.toContain('secret')
  })
})
