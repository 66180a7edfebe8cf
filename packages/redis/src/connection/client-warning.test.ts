import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RedisStore } from '../redis-store.js'

// These clients are never connected: the warning depends on their options only.

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

/** The warnings about this client, which Node emits a little later. */
async function warningsOf(client: unknown): Promise<string[]> {
  const store = new RedisStore(client as never)
  await new Promise((resolve) => setImmediate(resolve))
  await store.close()
  return warnings.filter(({ code }) => code === CODE).map(({ message }) => message)
}

const redis = (options = {}) => new Redis({ ...NODE, lazyConnect: true, ...options })
const cluster = (options = {}) => new Cluster([NODE], { lazyConnect: true, ...options })
const SAFE_CLUSTER = { enableOfflineQueue: false, retryDelayOnFailover: 0, retryDelayOnClusterDown: 0 }

describe('a warning lists the options with which a client can resend a check or send it late', () => {
  it.each([
    [
      'ioredis with its defaults',
      () => redis(),
      [
        'enableOfflineQueue: false (now true)',
        'autoResendUnfulfilledCommands: false (now true)',
        'maxRetriesPerRequest: 0 (now 20)',
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
      'ioredis that retries forever',
      () => redis({ ...SAFE, maxRetriesPerRequest: null }),
      ['maxRetriesPerRequest: 0 (now null)'],
    ],
    [
      'an ioredis cluster with its defaults',
      () => cluster(),
      [
        'enableOfflineQueue: false (now true)',
        'retryDelayOnFailover: 0 (now 100)',
        'retryDelayOnClusterDown: 0 (now 100)',
      ],
    ],
    [
      'an ioredis cluster that reconnects to its nodes',
      () => cluster({ ...SAFE_CLUSTER, clusterNodeRetryStrategy: () => 100 }),
      [
        'redisOptions.autoResendUnfulfilledCommands: false (now true)',
        'redisOptions.maxRetriesPerRequest: 0 (now 20)',
      ],
    ],
    ['node-redis with its defaults', () => createClient(), ['disableOfflineQueue: true (now false)']],
    [
      'a node-redis cluster with its defaults',
      () => createCluster({ rootNodes: [{ url: 'redis://127.0.0.1:1' }] }),
      ['defaults.disableOfflineQueue: true (now false)'],
    ],
  ])('%s', async (_, client, expectedOptions) => {
    const [message, ...more] = await warningsOf(client())
    expect(more).toStrictEqual([])
    expect(message).toContain('takes its units twice')
    expect(message).toContain(`Create the client with ${expectedOptions[0]}`)
    for (const what of expectedOptions) expect(message).toContain(what)
    // No other options are listed.
    expect(message?.match(/\(now /g)).toHaveLength(expectedOptions.length)
  })
})

describe('no warning is printed for', () => {
  it.each([
    ['ioredis with safe options', () => redis(SAFE)],
    ['an ioredis cluster with safe options', () => cluster(SAFE_CLUSTER)],
    [
      'an ioredis cluster that reconnects to its nodes with safe options',
      () => cluster({ ...SAFE_CLUSTER, clusterNodeRetryStrategy: () => 100, redisOptions: SAFE }),
    ],
    ['node-redis with safe options', () => createClient({ disableOfflineQueue: true })],
    [
      'a node-redis cluster with safe options',
      () =>
        createCluster({
          rootNodes: [{ url: 'redis://127.0.0.1:1' }],
          defaults: { disableOfflineQueue: true },
        }),
    ],
    ['a client whose options cannot be read', () => ({ call: async () => [], quit: async () => 'OK' })],
    ['a client that only sends commands', () => ({ isOpen: true, sendCommand: async () => [] })],
  ])('%s', async (_, client) => {
    expect(await warningsOf(client())).toStrictEqual([])
  })
})

it('several stores of one client print one warning', async () => {
  const client = redis()
  expect(await warningsOf(client)).toHaveLength(1)
  expect(await warningsOf(client)).toHaveLength(1)
  expect(await warningsOf(redis())).toHaveLength(2)
  expect(warnings[0]).toMatchObject({ name: 'TidegateWarning', code: CODE })
})
