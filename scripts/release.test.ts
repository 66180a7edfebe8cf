import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const repository = fileURLToPath(new URL('..', import.meta.url))
const PACKAGES = [
  'packages/core',
  'packages/redis',
  'packages/http',
  'packages/client',
  'packages/compat',
  'apps/server',
]
const FILES = [
  'package.json',
  'packages/core/src/version.ts',
  ...[...PACKAGES, 'apps/web'].map((path) => `${path}/package.json`),
]
let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidegate-release-'))
  for (const file of FILES) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    cpSync(join(repository, file), join(root, file))
  }
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const manifest = (path: string) => JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'))
const script = (name: string, ...args: string[]) =>
  spawnSync(process.execPath, [join(repository, 'scripts', name), ...args], {
    env: { ...process.env, TIDEGATE_ROOT: root },
    encoding: 'utf8',
  })

describe('set-version', () => {
  it('sets the version of every package, the ranges between them and VERSION', () => {
    expect(script('set-version.mjs', '3.4.5').status).toBe(0)
    for (const path of PACKAGES) expect(manifest(path).version).toBe('3.4.5')
    expect(manifest('packages/http').peerDependencies['@tidegate/core']).toBe('^3.4.5')
    expect(manifest('apps/server').dependencies['@tidegate/redis']).toBe('^3.4.5')
    expect(readFileSync(join(root, 'packages/core/src/version.ts'), 'utf8')).toContain("VERSION = '3.4.5'")
    expect(script('set-version.mjs', '--check', '3.4.5').status).toBe(0)
  })

  it('--check fails for another version and changes nothing', () => {
    const before = manifest('packages/core')
    const { status, stderr } = script('set-version.mjs', '--check', '99.0.0')
    expect(status).toBe(1)
    expect(stderr).toContain('expected 99.0.0')
    expect(manifest('packages/core')).toStrictEqual(before)
  })

  it('rejects a version that is not MAJOR.MINOR.PATCH', () => {
    expect(script('set-version.mjs', 'v1').stderr).toContain('got "v1"')
  })
})

describe('set-repository', () => {
  it('fails while the root package.json has no repository', () => {
    const { repository: _, ...rest } = manifest('.')
    writeFileSync(join(root, 'package.json'), JSON.stringify(rest))
    const { status, stderr } = script('set-repository.mjs')
    expect(status).toBe(1)
    expect(stderr).toContain('"repository" of the root package.json')
  })

  it('writes repository, homepage and bugs into every package', () => {
    const address = 'https://github.com/example/tidegate'
    writeFileSync(join(root, 'package.json'), JSON.stringify({ ...manifest('.'), repository: address }))
    expect(script('set-repository.mjs').status).toBe(0)
    for (const path of PACKAGES) {
      expect(manifest(path)).toMatchObject({
        repository: { type: 'git', url: `git+${address}.git`, directory: path },
        homepage: `${address}#readme`,
        bugs: `${address}/issues`,
      })
    }
  })
})
