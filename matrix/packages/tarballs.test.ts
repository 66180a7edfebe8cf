import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { ENTRIES } from '../src/entries.js'
import { createProject } from '../src/project.js'
import { PUBLISHED, repository, run } from '../src/run.js'

const folder = mkdtempSync(join(tmpdir(), 'tidegate-contents-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

beforeAll(async () => {
  for (const { name } of PUBLISHED) {
    const at = join(folder, name.replace('/', '-'))
    await run('mkdir', [at], folder)
    await run('tar', ['-xzf', inject('tarballs')[name]!, '-C', at, '--strip-components=1'], folder)
  }
})

const contentOf = (name: string) => join(folder, name.replace('/', '-'))
const filesOf = (name: string) => readdirSync(contentOf(name), { recursive: true, encoding: 'utf8' })

describe.each(PUBLISHED.map(({ name }) => name))('the tarball of %s', (name) => {
  it('contains the license, a README and the build, and neither tests nor build records', () => {
    const files = filesOf(name)
    expect(files).toContain('LICENSE')
    expect(files).toContain('README.md')
    expect(files.filter((file) => file.endsWith('.js')).length).toBeGreaterThan(0)
    expect(files.filter((file) => /\.test\.|\.tsbuildinfo$/.test(file))).toStrictEqual([])
  })

  it('has complete metadata', () => {
    const own = JSON.parse(readFileSync(join(contentOf(name), 'package.json'), 'utf8'))
    expect(own).toMatchObject({
      description: expect.stringMatching(/\w/),
      license: 'MIT',
      engines: { node: '>=20.19' },
      publishConfig: { access: 'public', provenance: true },
    })
    expect(own.keywords).toContain('rate-limit')
    for (const range of Object.values<string>({ ...own.dependencies, ...own.peerDependencies })) {
      expect(range).toMatch(/^\^/)
    }
  })
})

describe.each(PUBLISHED.map(({ name }) => name).filter((name) => name !== 'tidegate'))('%s', (name) => {
  it('ships every source that its source maps name', () => {
    const maps = filesOf(name).filter((file) => file.endsWith('.map'))
    expect(maps.length).toBeGreaterThan(0)
    for (const map of maps) {
      const path = join(contentOf(name), map)
      const { sources } = JSON.parse(readFileSync(path, 'utf8')) as { sources: string[] }
      for (const source of sources) expect(existsSync(join(dirname(path), source)), source).toBe(true)
    }
  })
})

it('core ships the page that messages refer to, with every page it links to', () => {
  const docs = join(contentOf('@tidegate/core'), 'docs')
  const page = readFileSync(join(docs, 'errors.md'), 'utf8')
  const links = [...page.matchAll(/\]\(([\w./-]+\.md)/g)].map((link) => link[1]!)
  expect(links.length).toBeGreaterThan(0)
  for (const link of links) expect(existsSync(join(docs, link)), link).toBe(true)
})

it('every framework is an optional peer, and an entry loads without the frameworks it does not use', async () => {
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(join(contentOf('@tidegate/http'), 'package.json'), 'utf8'),
  )
  const required = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional)
  expect(required).toStrictEqual(['@tidegate/core'])
  const project = await createProject()
  for (const framework of ['express', 'fastify', 'koa', 'hono', '@nestjs/common']) {
    expect(existsSync(project.path('node_modules', framework)), framework).toBe(false)
  }
  const entries = Object.entries(ENTRIES).flatMap(([entry, needs]) => (needs.length === 0 ? [entry] : []))
  const program = `for (const entry of ${JSON.stringify(entries)}) { require(entry); await import(entry) }`
  project.write({
    'load.mjs': `import { createRequire } from 'node:module'
      const require = createRequire(import.meta.url)
      ${program}`,
  })
  await project.run(process.execPath, 'load.mjs')
})

it('npm installs @tidegate/http alone, with core as its peer', async () => {
  // The registry does not have core, so use its tarball.
  const project = await createProject({}, ['@tidegate/core', '@tidegate/http', 'tidegate', '@tidegate/redis'])
  const tree = JSON.parse(await project.run('npm', 'ls', '@tidegate/core', '--json', '--all'))
  expect(tree.problems).toBeUndefined()
  expect(existsSync(project.path('node_modules/tidegate/node_modules/@tidegate'))).toBe(false)
  expect(await project.run(project.path('node_modules/.bin/tidegate'), '--version')).toMatch(/^\d+\.\d+\.\d+/)
})

it('npm pack builds a checkout that was never built', async () => {
  const clone = join(folder, 'clone')
  const tracked = await run(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    repository,
  )
  const files = tracked.split('\0').filter((file) => file !== '' && existsSync(join(repository, file)))
  await run('cp', ['--parents', '-t', await directory(clone), ...files], repository)
  await copyModules(clone)
  const output = await run('npm', ['pack', '-w', 'packages/core', '--pack-destination', folder], clone)
  const tarball = output.trim().split('\n').at(-1)!
  const contents = await run('tar', ['-tzf', join(folder, tarball)], folder)
  for (const file of ['dist/esm/index.js', 'dist/cjs/index.js', 'dist/cjs/package.json', 'docs/errors.md']) {
    expect(contents.split('\n')).toContain(`package/${file}`)
  }
})

async function directory(path: string): Promise<string> {
  await run('mkdir', ['-p', path], repository)
  return path
}

/** Links the installed dependencies of this checkout into another: `npm ci` would take a minute. */
async function copyModules(clone: string): Promise<void> {
  const found = await run('find', ['.', '-name', 'node_modules', '-prune'], repository)
  for (const modules of found.trim().split('\n')) {
    await run('cp', ['-al', modules, join(clone, modules)], repository)
  }
  // Caches are written in place, which would change those of this checkout. The stamp marks the installation as complete.
  const stamp = 'node_modules/.cache/tidegate-lock'
  await run('rm', ['-rf', join(clone, dirname(stamp))], clone)
  await run('mkdir', [join(clone, dirname(stamp))], clone)
  await run('cp', [join(repository, stamp), join(clone, stamp)], clone)
}
