import { beforeAll, describe, expect, it } from 'vitest'
import { consumer } from '../src/consumer.js'
import { createProject, type Project } from '../src/project.js'

/** The oldest TypeScript we support, the last of each major version, and the newest. */
const COMPILERS = { '5.4': '5.4', '5.9': '5.9', '6': '6', '7': '7.0.2' }

/** How projects set `module` and `moduleResolution`, and the kind of file that is compiled. */
const SETTINGS: [string, Record<string, unknown>, string][] = [
  ['node16, ES module', { module: 'node16' }, 'mts'],
  ['node16, CommonJS', { module: 'node16' }, 'cts'],
  ['nodenext, ES module', { module: 'nodenext' }, 'mts'],
  ['nodenext, CommonJS', { module: 'nodenext' }, 'cts'],
  ['esnext with bundler', { module: 'esnext', moduleResolution: 'bundler' }, 'ts'],
  ['commonjs', { module: 'commonjs' }, 'ts'],
]

let project: Project

beforeAll(async () => {
  const compilers = Object.entries(COMPILERS).map(([name, version]) => [
    `ts-${name}`,
    `npm:typescript@${version}`,
  ])
  project = await createProject({
    ...Object.fromEntries(compilers),
    '@types/node': '20',
    express: '5',
    '@types/express': '5',
    koa: '3',
    '@types/koa': '3',
    fastify: '5',
    hono: '4',
    '@nestjs/common': '11',
    '@nestjs/core': '11',
    'reflect-metadata': '0.2',
    rxjs: '7',
  })
})

describe.each(Object.keys(COMPILERS))('TypeScript %s', (compiler) => {
  it.each(SETTINGS)('compiles a consumer with %s', async (name, settings, extension) => {
    const folder = `${compiler}-${name.replaceAll(/\W+/g, '-')}`
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      target: 'ES2022',
      lib: ['ES2022'],
      types: ['node'],
      esModuleInterop: true,
      skipLibCheck: true,
      ...settings,
    }
    project.write({
      [`${folder}/consumer.${extension}`]: consumer,
      [`${folder}/tsconfig.json`]: JSON.stringify({ compilerOptions, files: [`consumer.${extension}`] }),
    })
    const tsc = project.path('node_modules', `ts-${compiler}`, 'bin/tsc')
    expect(await project.run(process.execPath, tsc, '-p', folder)).toBe('')
  })
})
