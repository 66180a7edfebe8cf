import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createLimiter } from '@tidegate/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configFile, startProcess } from '../../server/test/process.js'
import { policyOf, readChoice } from '../src/lab/choose/choice.js'
import { curlOf, typescriptOf, yamlOf } from '../src/lab/choose/snippets.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
let folder = ''

beforeAll(() => {
  // Inside node_modules, so that @tidegate/core resolves as in a user's project.
  const cache = join(root, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  folder = mkdtempSync(join(cache, 'choice-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Addresses of Choose, and the limit and the fields of the policy that all snippets must define. */
const cases: { address: string; limit: number; fields: object }[] = [
  { address: 'answers=y&limit=7&window=1h&capacity=3', limit: 3, fields: { refillRate: '7/1h' } },
  { address: 'answers=ny&limit=7&window=1h&capacity=3', limit: 3, fields: { leakRate: '7/1h' } },
  { address: 'answers=nny&limit=7&window=1h', limit: 7, fields: { window: 3_600_000 } },
  { address: 'answers=nnny&limit=7&window=1h', limit: 7, fields: { window: 3_600_000 } },
  { address: 'answers=nnnn&limit=7&window=1h', limit: 7, fields: { window: 3_600_000 } },
  {
    address: 'answers=nnny&limit=7&blockFor=15m&countDenied=true',
    limit: 7,
    fields: { blockFor: 900_000, countDenied: true },
  },
  { address: 'answers=y&blockFor=1m', limit: 100, fields: { blockFor: 60_000 } },
  {
    address: 'for=attempts&blockFor=1h',
    limit: 5,
    fields: { window: 900_000, start: 'first-request', blockFor: 3_600_000 },
  },
  {
    address: 'for=quota&timeZone=Asia/Seoul',
    limit: 1000,
    fields: { window: 'month', timeZone: 'Asia/Seoul' },
  },
  { address: 'for=in-flight&ttl=1m', limit: 10, fields: { ttl: 60_000 } },
  { address: 'for=tokens', limit: 100_000, fields: { window: 60_000 } },
  {
    address: 'for=tokens&limit=50000000&window=day&timeZone=America/New_York',
    limit: 50_000_000,
    fields: { window: 'day', timeZone: 'America/New_York' },
  },
]

describe.each(cases)('the snippets of $address', ({ address, limit, fields }) => {
  const choice = readChoice(new Map(new URLSearchParams(address)))!

  it('include a program that runs', async () => {
    const file = join(folder, `${address.replaceAll(/\W/g, '-')}.mjs`)
    writeFileSync(file, typescriptOf(choice))
    const { stdout, stderr } = await run(process.execPath, [file])
    expect(stdout).toBe('true 0\n')
    expect(stderr).toBe('')
  })

  it('define a policy with these numbers', () => {
    const policy = policyOf(choice)
    expect(policy).toMatchObject(fields)
    const peek = createLimiter({ policy }).peek('user:123')
    expect(peek).toMatchObject({ limit, remaining: limit, policy: 'api' })
  })

  it('include a configuration file and curl commands that work with it', async () => {
    const file = configFile(yamlOf(choice))
    // Set, because the line with a generated token may arrive later than the one with the address.
    const env = { TIDEGATE_ADMIN_TOKEN: 'the-token-of-this-test' }
    const service = await startProcess(['--config', file.path], env)
    try {
      const commands = curlOf(choice, `${service.url}/`)
      const { stdout } = await run('sh', ['-ec', commands.replaceAll(/^curl/gm, 'curl -sSf -w "\\n"')])
      const [first, second] = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const taken = choice.use === 'tokens' ? 1800 : 1
      expect(first).toMatchObject({ policy: 'api', limit, remaining: limit - taken, key: 'user:123' })
      if (choice.use === 'tokens') expect(second).toMatchObject({ settled: true, refunded: 597 })
      else if (choice.use === 'in-flight') expect(second).toStrictEqual({ released: true })
      else expect(second).toBeUndefined()
      const active = await fetch(`${service.url}/api/v1/admin/policies`, { headers: service.admin })
      expect(active.status).toBe(200)
      const { policies } = (await active.json()) as { policies: { name: string }[] }
      expect(policies.find(({ name }) => name === 'api')).toMatchObject({ limit, ...fields })
    } finally {
      await service.stop()
      file.remove()
    }
  })
})
