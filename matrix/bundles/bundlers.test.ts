import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { APP } from '../src/bundled-app.js'
import { createProject, type Project } from '../src/project.js'
import { eightStatuses, startServer, TWO_OF_EIGHT } from '../src/server-process.js'

let project: Project
let redis: RedisServer
const folders: string[] = []

beforeAll(async () => {
  redis = await startRedis()
  project = await createProject({
    esbuild: '0.28',
    webpack: '5',
    rollup: '4',
    '@rollup/plugin-commonjs': '29',
    '@rollup/plugin-json': '6',
    '@rollup/plugin-node-resolve': '16',
    '@vercel/ncc': '0.45',
  })
  project.write({ ...APP, 'bundle-with-webpack.cjs': WEBPACK, 'bundle-with-rollup.mjs': ROLLUP })
})
afterAll(async () => {
  await redis.stop()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

const WEBPACK = `
  const webpack = require('webpack')
  const [entry, filename] = process.argv.slice(2)
  const config = { mode: 'production', target: 'node', entry, output: { path: __dirname + '/out', filename } }
  webpack(config, (error, stats) => {
    if (error === null && !stats.hasErrors()) return
    console.error(error ?? stats.toString())
    process.exitCode = 1
  })`

const ROLLUP = `
  import commonjs from '@rollup/plugin-commonjs'
  import json from '@rollup/plugin-json'
  import { nodeResolve } from '@rollup/plugin-node-resolve'
  import { rollup } from 'rollup'
  const plugins = [nodeResolve({ preferBuiltins: true }), commonjs(), json()]
  const bundle = await rollup({ input: process.argv[2], plugins, onwarn() {} })
  await bundle.write({ file: 'out/' + process.argv[3], format: 'es' })
  await bundle.close()`

/** How each bundler makes one file of the application. */
const BUNDLERS: Record<string, { file: string; bundle(): Promise<unknown> }> = {
  'esbuild, ES module': {
    file: 'esbuild.mjs',
    // Bundled CommonJS calls require() for Node's own modules, which an ES module has to define.
    bundle: () =>
      esbuild(
        'app.mjs',
        'esbuild.mjs',
        '--format=esm',
        `--banner:js=import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`,
      ),
  },
  'esbuild, CommonJS': {
    file: 'esbuild.cjs',
    bundle: () => esbuild('app.cjs', 'esbuild.cjs', '--format=cjs'),
  },
  'webpack, ES module source': {
    file: 'webpack.cjs',
    bundle: () => project.run(process.execPath, 'bundle-with-webpack.cjs', './app.mjs', 'webpack.cjs'),
  },
  'webpack, CommonJS source': {
    file: 'webpack-required.cjs',
    bundle: () =>
      project.run(process.execPath, 'bundle-with-webpack.cjs', './app.cjs', 'webpack-required.cjs'),
  },
  rollup: {
    file: 'rollup.mjs',
    bundle: () => project.run(process.execPath, 'bundle-with-rollup.mjs', 'app.mjs', 'rollup.mjs'),
  },
  'ncc, CommonJS source': {
    file: 'ncc/index.cjs',
    bundle: () => project.run('node_modules/.bin/ncc', 'build', 'app.cjs', '-o', 'out/ncc'),
  },
  'ncc, ES module source': {
    file: 'ncc-imported/index.mjs',
    bundle: () => project.run('node_modules/.bin/ncc', 'build', 'app.mjs', '-o', 'out/ncc-imported'),
  },
}

function esbuild(entry: string, file: string, ...options: string[]): Promise<string> {
  const args = [entry, '--bundle', '--platform=node', '--log-level=error', `--outfile=out/${file}`]
  return project.run('node_modules/.bin/esbuild', ...args, ...options)
}

async function statusesOf(file: string, folder: string): Promise<number[]> {
  const env = { REDIS_URL: redis.url, POLICY: `api-${file.replaceAll(/\W/g, '-')}` }
  return eightStatuses(await startServer([file], folder, env, /^port (\d+)$/m))
}

describe('an application on RedisStore with a limit of 2 allows two of eight requests', () => {
  it.each(Object.keys(APP))('unbundled, %s', async (file) => {
    expect(await statusesOf(file, project.folder)).toStrictEqual(TWO_OF_EIGHT)
  })

  it.each(Object.keys(BUNDLERS))('bundled by %s', async (name) => {
    const { file, bundle } = BUNDLERS[name]!
    await bundle()
    // In another folder, without node_modules and other files that are not in the bundle.
    const folder = mkdtempSync(join(tmpdir(), 'tidegate-bundle-'))
    folders.push(folder)
    cpSync(project.path('out'), folder, { recursive: true })
    expect(await statusesOf(file, folder)).toStrictEqual(TWO_OF_EIGHT)
  })
})
