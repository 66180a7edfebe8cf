import { MemoryStore, storeFailed, withFallback } from '@tidegate/core'
import { describe, expect, it } from 'vitest'
import { request, rlsService } from '../../../test/rls/rls-service.js'

const LIMITED = '  - { key: user, rate_limit: { unit: minute, requests_per_unit: 5 } }'

describe('fixed windows count as the reference does', () => {
  it('counts past the limit, and hits of 0 show whether it was exceeded', async () => {
    const { ask } = rlsService(LIMITED)
    for (const [descriptor, hits, answer] of [
      ['user=bob', 0, 'OK 4'],
      ['user=bob:0', 0, 'OK 4'],
      ['user=bob', 3, 'OK 1'],
      ['user=bob', 3, 'OVER 0'],
      ['user=bob', 1, 'OVER 0'],
      ['user=bob:0', 0, 'OVER 0'],
      ['user=ann:5', 0, 'OK 0'],
      ['user=ann:0', 0, 'OK 0'],
      ['user=ann', 0, 'OVER 0'],
      ['user=ann:0', 0, 'OVER 0'],
      ['user=big:6', 0, 'OVER 0'],
      ['user=big', 0, 'OVER 0'],
      ['user=huge:1e300', 0, 'OVER 0'],
    ] as const) {
      expect([descriptor, hits, await ask(descriptor, hits)]).toStrictEqual([descriptor, hits, answer])
    }
  })

  it('denies everything under a limit of 0', async () => {
    const { ask } = rlsService('  - { key: user, rate_limit: { unit: day } }')
    expect([
      await ask('user=a:0'),
      await ask('user=a'),
      await ask('user=a:0'),
      await ask('user=b', 9),
    ]).toStrictEqual(['OK 0', 'OVER 0', 'OVER 0', 'OVER 0'])
  })

  it('refunds negative hits', async () => {
    const { ask } = rlsService(LIMITED)
    expect(await ask('user=bob', 5)).toBe('OK 0')
    expect(await ask('user=bob:-2')).toBe('OK 2')
    expect(await ask('user=bob:-9')).toBe('OK 5')
  })

  it.each([
    ['second', 1],
    ['minute', 60],
    ['hour', 3600],
    ['day', 86_400],
    ['week', 7 * 86_400],
    ['month', 30 * 86_400],
    ['year', 365 * 86_400],
  ])('aligns a %s to the epoch and counts down its whole seconds', async (unit, seconds) => {
    const { clock, send, ask } = rlsService(
      `  - { key: user, rate_limit: { unit: ${unit}, requests_per_unit: 1 } }`,
    )
    const windowMs = seconds * 1000
    const startMs = Math.ceil(clock.nowUs() / 1000 / windowMs) * windowMs
    clock.advance(startMs - clock.nowUs() / 1000 + windowMs - 400)
    const { statuses } = await send(request(['user=x']))
    expect(statuses[0]!.durationUntilReset).toStrictEqual({ seconds: 1 })
    expect(await ask('user=x')).toBe('OVER 0')
    clock.advance(400)
    const next = await send(request(['user=x']))
    expect(next).toMatchObject({ overallCode: 1, statuses: [{ durationUntilReset: { seconds } }] })
  })

  it('counts every descriptor, even if another is over its limit', async () => {
    const { ask } = rlsService(
      `${LIMITED}\n  - { key: all, rate_limit: { unit: minute, requests_per_unit: 1 } }`,
    )
    expect(await ask(['user=bob', 'all=x'])).toBe('OK: OK 4, OK 0')
    expect(await ask(['user=bob', 'all=x'])).toBe('OVER: OK 3, OVER 0')
    expect(await ask(['user=bob', 'all=x'])).toBe('OVER: OK 2, OVER 0')
  })
})

describe('limits sent with a request', () => {
  const override = (requestsPerUnit: number, unit: number, hits = 0) => ({
    domain: 'shop',
    hitsAddend: hits,
    descriptors: [{ entries: [{ key: 'user', value: 'bob' }], limit: { requestsPerUnit, unit } }],
  })

  it('replace the limits of the file, with separate counts', async () => {
    const { send, ask } = rlsService(LIMITED)
    expect(await send(override(2, 3, 2))).toMatchObject({
      overallCode: 1,
      statuses: [{ currentLimit: { requestsPerUnit: 2, unit: 3 }, limitRemaining: 0 }],
    })
    expect(await send(override(2, 3))).toMatchObject({ overallCode: 2 })
    expect(await send(override(9, 3))).toMatchObject({ statuses: [{ limitRemaining: 5 }] })
    expect(await ask('user=bob')).toBe('OK 4')
  })

  it('are counted in metrics by keys, without the values of clients', async () => {
    const { send, stats } = rlsService(LIMITED)
    await send(override(2, 3, 2))
    expect([...stats.all().keys()]).toStrictEqual(['shop.user'])
    expect(stats.all().get('shop.user')).toMatchObject({ hits: 2 })
  })

  it.each([0, 8, -1])('are rejected with the unit %s', async (unit) => {
    const { send } = rlsService(LIMITED)
    await expect(send(override(2, unit))).rejects.toMatchObject({ kind: 'invalid' })
  })
})

describe('other algorithms and windows', () => {
  const rule = (fields: string) => `  - { key: user, rate_limit: { requests_per_unit: 2, ${fields} } }`

  it('uses rolling windows', async () => {
    const { clock, ask, send } = rlsService(rule('unit: minute, algorithm: sliding-window-log'))
    clock.advance(59_000)
    expect([await ask('user=x'), await ask('user=x')]).toStrictEqual(['OK 1', 'OK 0'])
    clock.advance(2000)
    expect(await ask('user=x')).toBe('OVER 0')
    expect(await send(request(['user=x']))).toMatchObject({
      statuses: [{ durationUntilReset: { seconds: 58 } }],
    })
    clock.advance(58_000)
    expect(await ask('user=x')).toBe('OK 1')
  })

  it('denies hits above the limit without counting them, and does not count hits of 0', async () => {
    const { ask } = rlsService(rule('unit: minute, algorithm: sliding-window-counter'))
    expect([
      await ask('user=x:3'),
      await ask('user=x:0'),
      await ask('user=x:2'),
      await ask('user=x:0'),
    ]).toStrictEqual(['OVER 0', 'OK 2', 'OK 0', 'OVER 0'])
  })

  it('refills a token bucket at the rate of the limit', async () => {
    const { clock, ask } = rlsService(rule('window: 10m, algorithm: token-bucket'))
    expect([await ask('user=x', 2), await ask('user=x')]).toStrictEqual(['OK 0', 'OVER 0'])
    clock.advance(5 * 60_000)
    expect([await ask('user=x'), await ask('user=x')]).toStrictEqual(['OK 0', 'OVER 0'])
  })

  it('supports windows of any length, without a unit in the response', async () => {
    const { clock, send } = rlsService(rule('window: 10m'))
    clock.advance(60_000)
    expect(await send(request(['user=x']))).toMatchObject({
      statuses: [{ currentLimit: { requestsPerUnit: 2, unit: 0 }, durationUntilReset: { seconds: 540 } }],
    })
  })

  it('denies everything under a limit of 0', async () => {
    const { ask } = rlsService('  - { key: user, rate_limit: { unit: minute, algorithm: token-bucket } }')
    expect(await ask('user=x')).toBe('OVER 0')
  })
})

describe('atomic: all or nothing', () => {
  const domain = (more = '') => `domain: shop
atomic: true
descriptors:
  - { key: user, rate_limit: { unit: minute, requests_per_unit: 5 } }
  - { key: all, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: zero, rate_limit: { unit: minute, requests_per_unit: 0 } }
  - { key: roll, rate_limit: { unit: minute, requests_per_unit: 3, algorithm: sliding-window-log } }
${more}`

  it('counts no descriptor of a denied request', async () => {
    const { ask, stats } = rlsService(domain())
    expect(await ask(['user=bob', 'all=x', 'roll=x'])).toBe('OK: OK 4, OK 0, OK 2')
    expect(await ask(['user=bob', 'all=x', 'roll=x'])).toBe('OVER: OK 4, OVER 0, OK 2')
    expect(await ask(['user=bob', 'zero=x'])).toBe('OVER: OK 4, OVER 0')
    expect(await ask(['user=bob', 'roll=x:4'])).toBe('OVER: OK 4, OVER 0')
    expect(await ask(['user=bob', 'all=y', 'roll=x'])).toBe('OK: OK 3, OK 0, OK 1')
    expect(['shop.zero', 'shop.roll'].map((name) => stats.of(name).overLimit)).toStrictEqual([1, 4])
  })

  it('adds up descriptors that are the same', async () => {
    const { ask } = rlsService(domain())
    expect(await ask(['user=bob:3', 'user=bob:3'])).toBe('OVER: OVER 0, OVER 0')
    expect(await ask(['user=bob:2', 'user=bob:3'])).toBe('OK: OK 0, OK 0')
  })

  it('does not deny a request because of a rule in shadow mode', async () => {
    const { ask } = rlsService(
      domain('  - { key: dry, shadow_mode: true, rate_limit: { unit: minute, requests_per_unit: 1 } }'),
    )
    expect(await ask(['user=bob', 'dry=x'])).toBe('OK: OK 4, OK 0')
    expect(await ask(['user=bob', 'dry=x'])).toBe('OK: OK 3, OK 0')
  })
})

describe('shadow mode, quota mode, replaces and unlimited', () => {
  it('a rule in shadow mode counts without denying', async () => {
    const { ask, stats } = rlsService(
      '  - { key: user, shadow_mode: true, rate_limit: { unit: minute, requests_per_unit: 2 } }',
    )
    expect([await ask('user=x', 2), await ask('user=x', 2)]).toStrictEqual(['OK 0', 'OK 0'])
    expect(stats.all().get('shop.user')).toMatchObject({ hits: 4, overLimit: 2, shadowMode: 2 })
  })

  it('global shadow mode responds with OK, and reports denials in the statuses', async () => {
    const { ask, counts } = rlsService(LIMITED, { shadowMode: true })
    expect(await ask('user=x', 6)).toBe('OK: OVER 0')
    expect(counts.shadowed).toBe(1)
  })

  it('denies in quota mode only if every quota is used up', async () => {
    const rules = [1, 2].map(
      (n) => `  - { key: q${n}, quota_mode: true, rate_limit: { unit: day, requests_per_unit: ${n} } }`,
    )
    const { ask } = rlsService(`${rules.join('\n')}\n${LIMITED}`)
    expect(await ask(['q1=x', 'q2=x'])).toBe('OK: OK 0, OK 1')
    expect(await ask(['q1=x', 'q2=x'])).toBe('OK: OVER 0, OK 0')
    expect(await ask(['q1=x', 'q2=x'])).toBe('OVER: OVER 0, OVER 0')
    expect(await ask(['q2=y', 'user=x:6'])).toBe('OVER: OK 1, OVER 0')
  })

  it('treats every rule as a quota in global quota mode', async () => {
    const { ask } = rlsService(LIMITED, { quotaMode: true })
    expect(await ask(['user=x:6', 'user=y'])).toBe('OK: OVER 0, OK 4')
    expect(await ask(['user=x', 'user=y:6'])).toBe('OVER: OVER 0, OVER 0')
  })

  it('ignores replaced rules, and does not limit unlimited ones', async () => {
    const { ask } = rlsService(`
  - { key: user, rate_limit: { unit: day, requests_per_unit: 1, name: per-user } }
  - { key: vip, rate_limit: { unlimited: true, replaces: [{ name: per-user }] } }`)
    expect(await ask(['user=x', 'vip=y'])).toBe('OK: OK 0, OK 4294967295')
    expect(await ask('user=x')).toBe('OK 0')
    expect(await ask('user=x')).toBe('OVER 0')
    expect(await ask(['user=x', 'vip=y'])).toBe('OK: OK 0, OK 4294967295')
  })
})

describe('response headers and metadata', () => {
  it('adds the headers of the limit that is nearest, or that denies', async () => {
    const responseHeaders = { limit: 'X-Limit', remaining: 'X-Remaining', reset: 'X-Reset' }
    const rules = `${LIMITED}\n  - { key: all, rate_limit: { unit: day, requests_per_unit: 3 } }`
    const { send } = rlsService(rules, { responseHeaders })
    const headersOf = async (...descriptors: string[]) =>
      (await send(request(descriptors))).responseHeadersToAdd?.map(({ key, value }) => `${key}: ${value}`)
    const day = 'X-Reset: 86400'
    expect(await headersOf('user=x', 'all=x')).toStrictEqual(['X-Limit: 3', 'X-Remaining: 2', day])
    expect(await headersOf('user=x:4', 'all=y')).toStrictEqual([
      'X-Limit: 5',
      'X-Remaining: 0',
      'X-Reset: 60',
    ])
    expect(await headersOf('user=x:4', 'all=x:3')).toStrictEqual(['X-Limit: 3', 'X-Remaining: 0', day])
    expect(await headersOf('other=x')).toStrictEqual([])
  })

  it('has the request and the metadata of the descriptors that passed as dynamic metadata', async () => {
    const { send } = rlsService(
      `
  - key: user
    rate_limit: { unit: day, requests_per_unit: 1 }
    metadata: { team: { name: a, size: 3 }, tags: [x, true, null] }
  - key: all
    rate_limit: { unit: day, requests_per_unit: 9 }
    metadata: { team: { name: b, lead: c } }`,
      { dynamicMetadata: true },
    )
    const team = (fields: object) => ({ structValue: { fields } })
    const first = await send(request(['user=x', 'all=x'], 1))
    expect(first.dynamicMetadata?.fields).toMatchObject({
      domain: { stringValue: 'shop' },
      hitsAddend: { numberValue: 1 },
      metadata: team({
        team: team({ name: { stringValue: 'a' }, size: { numberValue: 3 }, lead: { stringValue: 'c' } }),
        tags: { listValue: { values: [{ stringValue: 'x' }, { boolValue: true }, { nullValue: 0 }] } },
      }),
    })
    const second = await send(request(['user=x', 'all=x']))
    expect(second.dynamicMetadata?.fields.metadata).toStrictEqual(
      team({ team: team({ name: { stringValue: 'b' }, lead: { stringValue: 'c' } }) }),
    )
  })
})

describe('while the store fails', () => {
  const rule = (key: string, limit: number, more = '') =>
    `  - { key: ${key}, rate_limit: { window: 1d, requests_per_unit: ${limit}${more} } }\n`
  const limits = (algorithm: string) =>
    rule('user', 5, `, algorithm: ${algorithm}`) + rule('none', 0, `, algorithm: ${algorithm}`)
  const WAYS: [string, string][] = [
    ['fixed windows', limits('fixed-window')],
    ['rolling windows', limits('sliding-window-counter')],
    ['atomic domains', `domain: shop\natomic: true\ndescriptors:\n${limits('fixed-window')}`],
  ]
  const failingService = (yaml: string, onStoreFailure: 'open' | 'closed') => {
    const failing = new MemoryStore()
    failing.check =
      failing.charge =
      failing.peek =
      failing.take =
        () => {
          throw storeFailed('unreachable', 'no connection')
        }
    const store = withFallback(failing, { onEvent: () => {} })
    return { ...rlsService(yaml, { onStoreFailure }, store), store }
  }

  it.each(WAYS)('open allows hits up to the whole limit, for %s', async (_, yaml) => {
    const { ask, stats, store } = failingService(yaml, 'open')
    const responses = [await ask('user=a', 5), await ask('user=a', 5), await ask('user=a', 6)]
    responses.push(await ask('none=a'), await ask('none=a', 9))
    expect(responses).toStrictEqual(['OK 0', 'OK 0', 'OVER 0', 'OVER 0', 'OVER 0'])
    expect(stats.of('shop.user')).toMatchObject({ hits: 16, withinLimit: 10, overLimit: 6 })
    await store.close()
  })

  it.each(WAYS)('closed denies every hit, for %s', async (_, yaml) => {
    const { ask, stats, store } = failingService(yaml, 'closed')
    expect([await ask('user=a'), await ask('user=a', 6)]).toStrictEqual(['OVER 0', 'OVER 0'])
    expect(stats.of('shop.user')).toStrictEqual({
      hits: 7,
      withinLimit: 0,
      nearLimit: 0,
      overLimit: 7,
      shadowMode: 0,
    })
    await store.close()
  })
})

it('allows an unknown domain, and reports it', async () => {
  const { send, unknown } = rlsService(LIMITED)
  const { overallCode, statuses } = await send(request(['user=x'], 9, 'elsewhere'))
  expect({ overallCode, statuses }).toStrictEqual({
    overallCode: 1,
    statuses: [{ code: 1, limitRemaining: 0 }],
  })
  expect(unknown).toStrictEqual(['elsewhere'])
})

it.each([
  ['without a domain', request(['user=x'], 0, '')],
  ['without descriptors', request([])],
  ['with more than 1,000 descriptors', request(Array.from({ length: 1001 }, () => 'user=x'))],
])('rejects a request %s', async (_, sent) => {
  await expect(rlsService(LIMITED).send(sent)).rejects.toMatchObject({ kind: 'invalid' })
})

it('counts different values separately, whatever characters they contain', async () => {
  const { send } = rlsService(
    '  - { key: a, descriptors: [{ key: b, rate_limit: { unit: day, requests_per_unit: 9 } }] }',
  )
  const values = [
    '',
    'x',
    '|',
    '=',
    '\\',
    'x|b=y',
    '\u0000',
    '\ud800',
    'é',
    '😀',
    'x'.repeat(300),
    'x'.repeat(301),
  ]
  for (const one of values) {
    for (const other of values) {
      const entries = [
        { key: 'a', value: one },
        { key: 'b', value: other },
      ]
      const { statuses } = await send({ domain: 'shop', hitsAddend: 0, descriptors: [{ entries }] })
      expect([one, other, statuses[0]!.limitRemaining]).toStrictEqual([one, other, 8])
    }
  }
})
