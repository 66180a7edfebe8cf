import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, inject, it } from 'vitest'
import { createProject, type Project } from '../src/project.js'
import { run } from '../src/run.js'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-copies-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** A tarball of @tidegate/core that differs only in its version. */
async function coreWithVersion(version: string): Promise<string> {
  const at = mkdtempSync(join(folder, 'core-'))
  await run('tar', ['-xzf', inject('tarballs')['@tidegate/core']!, '-C', at], at)
  const own = JSON.parse(readFileSync(join(at, 'package/package.json'), 'utf8'))
  for (const file of ['package.json', 'dist/esm/version.js', 'dist/cjs/version.js']) {
    const path = join(at, 'package', file)
    const text = readFileSync(path, 'utf8')
    expect(text).toContain(own.version)
    writeFileSync(path, text.replace(own.version, version))
  }
  await run('npm', ['pack', '--ignore-scripts'], join(at, 'package'))
  const tarball = readdirSync(join(at, 'package')).find((name) => name.endsWith('.tgz'))
  return join(at, 'package', tarball!)
}

async function projectWithTwoCores(otherVersion: string): Promise<Project> {
  const project = await createProject({ 'other-core': `file:${await coreWithVersion(otherVersion)}` })
  const installed = readFileSync(project.path('node_modules/other-core/package.json'), 'utf8')
  expect(JSON.parse(installed)).toMatchObject({ name: '@tidegate/core', version: otherVersion })
  return project
}

/** The version after this one with the same compatibility, and one without. */
function versionsAfter(version: string): { compatible: string; incompatible: string } {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  return { compatible: `${major}.${minor}.${patch + 1}`, incompatible: `${major + 1}.0.0` }
}

const { version } = JSON.parse(
  readFileSync(new URL('../../packages/core/package.json', import.meta.url), 'utf8'),
)
const { compatible, incompatible } = versionsAfter(version)

const PROGRAM = {
  'app.mjs': `
    import { createServer } from 'node:http'
    import { createLimiter, fixedWindow, MemoryStore } from 'other-core'
    import { rateLimit } from '@tidegate/http/node'
    import * as own from '@tidegate/core'
    const store = new MemoryStore()
    const policy = fixedWindow({ limit: 3, window: '365d', name: 'api' })
    const limit = rateLimit({ limiter: own.createLimiter({ policy, store }) })
    const server = createServer(limit((_, response) => response.end('hello')))
    server.listen(0, '127.0.0.1', async () => {
      const url = 'http://127.0.0.1:' + server.address().port
      const statuses = []
      for (let i = 0; i < 4; i++) statuses.push((await fetch(url)).status)
      console.log(statuses.join())
      server.closeAllConnections()
      server.close()
    })`,
}

it(`${compatible} beside ${version}: policies and stores of one work with limiters of the other`, async () => {
  const project = await projectWithTwoCores(compatible)
  project.write(PROGRAM)
  expect(await project.run(process.execPath, 'app.mjs')).toBe('200,200,200,429\n')
})

it(`${incompatible} beside ${version}: the error names both versions`, async () => {
  const project = await projectWithTwoCores(incompatible)
  project.write(PROGRAM)
  await expect(project.run(process.execPath, 'app.mjs')).rejects.toThrow(
    `two copies of @tidegate/core: ${version} received a policy made by ${incompatible}`,
  )
})
