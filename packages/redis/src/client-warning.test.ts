import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RedisStore } from './redis-store.js'

// Clients that are never connected: what they would do, their options say.

const CODE = 'TIDEGATE_CLIENT_RESENDS'
const SAFE = { enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 }
const NODE = { host: '127.0.0.1', port: 1 }

let warnings: (Error & { code?: string })[] = []
const note = (warning: Error) => warnings.push(warning)
beforeEach(() => {
  warnings = []
  process.on('warning', note)
})
afterEach(() => {
  process.off('warning', note)
})

/** The warnings that a store of this client makes; Node tells them a little later. */
async function warningsOf(client: unknown): Promise<string[]> {
  const store = new RedisStore(client as never)
  await new Promise((resolve) => setImmediate(resolve))
  await store.close()
  return warnings.filter(({ code }) => code === CODE).map(({ message }) => message)
}

const redis = (options = {}) => new Redis({ ...NODE, lazyConnect: true, ...options })
const cluster = (options = {}) => new Cluster([NODE], { lazyConnect: true, ...options })
const SAFE_CLUSTER = { enableOfflineQueue: false, retryDelayOnFailover: 0, retryDelayOnClusterDown: 0 }

describe('a client of the user’s own is named in one warning if it can send a check again or late', () => {
  it.each([
    [
      'ioredis as it comes',
      () => redis(),
      [
        'enableOfflineQueue: false (it is true)',
        'autoResendUnfulfilledCommands: false (it is true)',
        'maxRetriesPerRequest: 0 (it is 20)',
      ],
    ],
    [
      'ioredis that queues',
      () => redis({ ...SAFE, enableOfflineQueue: true }),
      ['enableOfflineQueue: false'],
    ],
    [
      'ioredis that resends',
      () => redis({ ...SAFE, autoResendUnfulfilledCommands: true }),
      ['autoResendUnfulfilledCommands: false'],
    ],
    [
      'ioredis that tries for ever',
      () => redis({ ...SAFE, maxRetriesPerRequest: null }),
      ['maxRetriesPerRequest: 0 (it is null)'],
    ],
    [
      'an ioredis cluster as it comes',
      () => cluster(),
      [
        'enableOfflineQueue: false (it is true)',
        'retryDelayOnFailover: 0 (it is 100)',
        'retryDelayOnClusterDown: 0 (it is 100)',
      ],
    ],
    [
      'an ioredis cluster whose connections come back by themselves',
      () => cluster({ ...SAFE_CLUSTER, clusterNodeRetryStrategy: () => 100 }),
      [
        'redisOptions.autoResendUnfulfilledCommands: false (it is true)',
        'redisOptions.maxRetriesPerRequest: 0 (it is 20)',
      ],
    ],
    ['node-redis as it comes', () => createClient(), ['disableOfflineQueue: true (it is false)']],
    [
      'a node-redis cluster as it comes',
      () => createCluster({ rootNodes: [{ url: 'redis://127.0.0.1:1' }] }),
      ['defaults.disableOfflineQueue: true (it is false)'],
    ],
  ])('%s', async (_, client, says) => {
    const [message, ...more] = await warningsOf(client())
    expect(more).toStrictEqual([])
    expect(message).toContain('takes its units twice')
    expect(message).toContain(`Make the client with ${says[0]}`)
    for (const what of says) expect(message).toContain(what)
    // And nothing else.
    expect(message?.match(/\(it is/g)).toHaveLength(says.length)
  })
})

describe('there is no warning for', () => {
  it.each([
    ['ioredis that does not', () => redis(SAFE)],
    ['an ioredis cluster that does not', () => cluster(SAFE_CLUSTER)],
    [
      'an ioredis cluster whose connections come back empty',
      () => cluster({ ...SAFE_CLUSTER, clusterNodeRetryStrategy: () => 100, redisOptions: SAFE }),
    ],
    ['node-redis that does not', () => createClient({ disableOfflineQueue: true })],
    [
      'a node-redis cluster that does not',
      () =>
        createCluster({
          rootNodes: [{ url: 'redis://127.0.0.1:1' }],
          defaults: { disableOfflineQueue: true },
        }),
    ],
    ['a client whose options cannot be read', () => ({ call: async () => [], quit: async () => 'OK' })],
    ['one that only sends commands', () => ({ sendCommand: async () => [] })],
  ])('%s', async (_, client) => {
    expect(await warningsOf(client())).toStrictEqual([])
  })
})

it('several stores of one client make one warning', async () => {
  const client = redis()
  expect(await warningsOf(client)).toHaveLength(1)
  expect(await warningsOf(client)).toHaveLength(1)
  expect(await warningsOf(redis())).toHaveLength(2)
  expect(warnings[0]).toMatchObject({ name: 'TidegateWarning', code: CODE })
})
