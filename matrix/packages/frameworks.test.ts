import { describe, expect, it } from 'vitest'
import { APPS, type Framework } from '../src/apps.js'
import { createProject } from '../src/project.js'

/** For each framework the oldest version of the peer range and the newest of each major version. */
const VERSIONS: Record<Framework, readonly string[]> = {
  express: ['4.18.0', '4', '5'],
  koa: ['2.0.0', '2', '3'],
  fastify: ['4.23.0', '4', '5'],
  hono: ['3.11.0', '3', '4.0.0', '4'],
  nest: ['10.0.0', '10', '11', '12'],
}

describe.each(Object.entries(VERSIONS))('%s', (name, versions) => {
  const app = APPS[name as Framework]
  it.each(versions)(
    '%s installs beside our packages, allows two requests and rejects the third',
    async (version) => {
      const project = await createProject(app.packages(version), ['@tidegate/core', '@tidegate/http'])
      project.write({ 'app.mjs': app.program('import'), 'app.cjs': app.program('require') })
      expect(await project.run(process.execPath, 'app.mjs')).toBe('200,200,429\n')
      expect(await project.run(process.execPath, 'app.cjs')).toBe('200,200,429\n')
    },
  )
})
