import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ALGORITHM_NAMES, createLimiter } from '@tidegate/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService } from '../../../packages/client/test/service-process.js'
import { curlOf, policyOf, typescriptOf, yamlOf } from '../src/lab/choice.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
let folder = ''

beforeAll(() => {
  // Inside node_modules, so that @tidegate/core is found as a user's project finds it.
  const cache = join(root, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  folder = mkdtempSync(join(cache, 'choice-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each(ALGORITHM_NAMES.map((algorithm) => ({ algorithm })))(
  'what the page writes for $algorithm',
  ({ algorithm }) => {
    const choice = { algorithm, limit: 7, window: '1h', capacity: 3 } as const
    const most = algorithm === 'token-bucket' || algorithm === 'leaky-bucket' ? 3 : 7

    it('is a program that runs', async () => {
      const file = join(folder, `${algorithm}.mjs`)
      writeFileSync(file, typescriptOf(choice))
      const { stdout } = await run(process.execPath, [file])
      expect(stdout).toBe('true 0\n')
    })

    it('is the policy with these numbers', () => {
      const limiter = createLimiter({ policy: policyOf(choice) })
      expect(limiter.peek('user:123')).toMatchObject({ limit: most, remaining: most, policy: 'api' })
    })

    it('is a file with which the service answers the request', async () => {
      const service = await startService(yamlOf(choice))
      try {
        const { pathname, search } = new URL(/'(.*)'/.exec(curlOf())?.[1] ?? '')
        const response = await fetch(new URL(pathname + search, service.url))
        expect(response.status).toBe(200)
        expect(await response.json()).toMatchObject({
          policy: 'api',
          limit: most,
          remaining: most - 1,
          key: 'user:123',
        })
      } finally {
        await service.stop()
      }
    })
  },
)
