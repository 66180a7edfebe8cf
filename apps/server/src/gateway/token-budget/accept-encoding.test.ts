import { expect, it } from 'vitest'
import { readableCodings } from './accept-encoding.js'

it.each([
  ['gzip, deflate, br, zstd', 'gzip, deflate, br'],
  ['gzip;q=0.5, br;q=1.0', 'gzip;q=0.5, br;q=1.0'],
  ['zstd, GZIP', 'GZIP'],
  ['zstd', 'identity'],
  ['*', 'identity'],
  ['', 'identity'],
])('reduces %j to %j', (accepted, offered) => {
  expect(readableCodings(accepted)).toBe(offered)
})
