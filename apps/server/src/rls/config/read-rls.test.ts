import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../config/load.js'
import { formatConfigErrors } from '../../config-file/config-error.js'
import { validateLimits } from '../validate-limits.js'
import type { RlsFlags } from './read-rls.js'

function load(text: string, rls: RlsFlags = {}) {
  const loaded = loadConfig({ text, env: {}, flags: { rls } })
  return 'errors' in loaded ? formatConfigErrors(loaded.errors, 'tidegate.yaml') : loaded.config.rls
}

describe('the options of the rate limit service', () => {
  it('are undefined without listen', () => {
    expect(load('')).toBeUndefined()
    expect(load('rls: { shadowMode: true }')).toBeUndefined()
  })

  it('come from the file, and the command line overrides them', () => {
    const file =
      'host: 10.0.0.1\nrls: { listen: 8081, config: [a], responseHeaders: { limit: X-Limit }, nearLimitRatio: 0.5 }'
    expect(load(file)).toMatchObject({
      host: '10.0.0.1',
      port: 8081,
      files: ['a'],
      tls: undefined,
      settings: {
        responseHeaders: { limit: 'X-Limit', remaining: 'RateLimit-Remaining', reset: 'RateLimit-Reset' },
        nearLimitRatio: 0.5,
        onStoreFailure: 'error',
      },
    })
    const flags = { listen: '[::1]:9', files: ['b', 'c'], certFile: 'c', keyFile: 'k', clientCaFile: 'ca' }
    expect(load(file, flags)).toMatchObject({
      host: '::1',
      port: 9,
      files: ['b', 'c'],
      tls: { certFile: 'c', keyFile: 'k', clientCaFile: 'ca' },
    })
  })

  it.each<[string, RlsFlags, string]>([
    [
      '',
      { listen: 'here' },
      '--rls: must be a port or an address with a port, such as 8081 or 0.0.0.0:8081, got "here"',
    ],
    ['', { listen: '8081' }, 'rls.config: is missing; write for example config: [/etc/ratelimit/config]'],
    [
      '',
      { files: ['a'] },
      'rls.listen: is missing; write for example listen: 8081, or start with --rls 8081',
    ],
    [
      'rls: { listen: 99999, config: [a] }',
      {},
      'tidegate.yaml:1:16  rls.listen: "99999" is not an address to listen on',
    ],
    [
      'rls: { listen: 8080, config: [a] }',
      {},
      'rls.listen: port 8080 is already used by the API of the service',
    ],
    ['rls: { listen: 1, config: [a], tls: { keyFile: a } }', {}, 'rls.tls: needs both certFile and keyFile'],
    [
      'rls: { listen: 1, config: [a], responseHeaders: { limit: "a b" } }',
      {},
      '"a b" is not a valid header name',
    ],
    [
      'rls: { listen: 1, config: [a], nearLimitRatio: 2 }',
      {},
      'rls.nearLimitRatio: must be a number from 0 to 1, got 2',
    ],
    [
      'rls: { listen: 1, config: [a], nearLimitRatio: half }',
      {},
      'rls.nearLimitRatio: must be a number from 0 to 1, got "half"',
    ],
    [
      'rls: { listen: 1, config: [a], onStoreFailure: fail }',
      {},
      'rls.onStoreFailure: "fail" is not a valid value',
    ],
  ])('%s %j is an error', (text, flags, message) => {
    expect(load(text, flags)).toContain(message)
  })

  it('have no position if they are on the command line', () => {
    expect(load('port: 8080', { listen: '8081' })).toMatch(/^rls\.config: is missing/)
    expect(load('port: 8080', { listen: '8080', files: ['a'] })).toMatch(
      /^rls\.listen: port 8080 is already used/,
    )
    expect(load('port: 8080', { files: ['a'] })).toMatch(/^rls\.listen: is missing/)
  })
})

it('a folder without files and a missing file are errors', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-limits-'))
  const terms = { mergeDomains: false, onStoreFailure: 'error', instances: 1 } as const
  expect(validateLimits([folder], terms).errors).toBe(
    `${folder}: the folder has no files; add a file with domain and descriptors`,
  )
  rmSync(folder, { recursive: true })
  expect(validateLimits([folder], terms).errors).toBe(`${folder}: file not found`)
})
