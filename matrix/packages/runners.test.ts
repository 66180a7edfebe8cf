import { expect, it } from 'vitest'
import { ENTRIES } from '../src/entries.js'
import { createProject } from '../src/project.js'

const NEST = { '@nestjs/common': '11', '@nestjs/core': '11', 'reflect-metadata': '0.2', rxjs: '7' }

/** The body of a test file, the same for every runner. */
const body = `
  test('every entry has exports', () => {
    for (const entry of entries) expect(Object.keys(entry).length).toBeGreaterThan(0)
  })
  test('allows two checks and denies the third', () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 2, window: '1h' }) })
    expect([1, 2, 3].map(() => limiter.check('user:1').allowed)).toEqual([true, true, false])
  })`

it('Jest runs CommonJS tests without a transform', async () => {
  const project = await createProject({ ...NEST, jest: '30' })
  project.write({
    'jest.config.js': 'module.exports = { transform: {} }',
    'limit.test.js': `
      const entries = ${JSON.stringify(Object.keys(ENTRIES))}.map((entry) => require(entry))
      const { createLimiter, fixedWindow } = require('@tidegate/core')
      ${body}`,
  })
  const output = await project.run('node_modules/.bin/jest', '--json')
  expect(JSON.parse(output)).toMatchObject({ success: true, numPassedTests: 2 })
})

it('Vitest runs ES module tests', async () => {
  const project = await createProject({ ...NEST, vitest: '4' })
  const imports = Object.keys(ENTRIES).map((entry, i) => `import * as entry${i} from '${entry}'`)
  const names = imports.map((_, i) => `entry${i}`)
  project.write({
    'limit.test.mjs': `
      import { expect, test } from 'vitest'
      import { createLimiter, fixedWindow } from '@tidegate/core'
      ${imports.join('\n')}
      const entries = [${names.join()}]
      ${body}`,
  })
  const output = await project.run('node_modules/.bin/vitest', 'run', '--reporter=json')
  expect(JSON.parse(output)).toMatchObject({ success: true, numPassedTests: 2 })
})
