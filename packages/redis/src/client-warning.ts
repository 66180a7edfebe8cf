import { show } from '@tidegate/core'

/*
 * A call whose connection was lost may have been carried out: sent again, it takes its units twice. A call that
 * waits for a connection is carried out when nobody wants to know any more. Clients made here do neither; what a
 * client of the user's own does, its options say, as far as they can be read. What proves that a call was not
 * carried out (MOVED, ASK, TRYAGAIN) may be sent again soon, so options for that are none of ours. A cluster that is
 * down (CLUSTERDOWN) is not back soon.
 */

/** An option that makes a client send again or later: its name, what it is, and what it should be. */
type Resending = readonly [option: string, is: unknown, shouldBe: unknown]

/** Who makes several stores of one client hears it once. */
const warned = new WeakSet<object>()

export function warnIfItResends(client: object): void {
  if (warned.has(client)) return
  const found = 'call' in client ? ofIoredis(client as Ioredis) : ofNodeRedis(client as NodeRedis)
  if (found.length === 0) return
  warned.add(client)
  const set = found.map(([option, is, shouldBe]) => `${option}: ${show(shouldBe)} (it is ${show(is)})`)
  process.emitWarning(
    'The Redis client given to RedisStore can send a check a second time, or long after it was made. One ' +
      `that is carried out twice takes its units twice. Make the client with ${set.join(', ')}.`,
    { type: 'TidegateWarning', code: 'TIDEGATE_CLIENT_RESENDS' },
  )
}

interface IoredisOptions {
  enableOfflineQueue?: boolean
  autoResendUnfulfilledCommands?: boolean
  maxRetriesPerRequest?: number | null
  /** Only of a cluster. */
  retryDelayOnFailover?: number
  retryDelayOnClusterDown?: number
  clusterNodeRetryStrategy?: unknown
  redisOptions?: IoredisOptions
}

interface Ioredis {
  options?: IoredisOptions
  isCluster?: boolean
}

/** ioredis fills in its defaults. */
function ofIoredis({ options, isCluster }: Ioredis): Resending[] {
  if (typeof options !== 'object' || options === null) return []
  const found: Resending[] = []
  if (options.enableOfflineQueue === true) found.push(['enableOfflineQueue', true, false])
  if (isCluster !== true) return [...found, ...retriesOf(options)]
  for (const option of ['retryDelayOnFailover', 'retryDelayOnClusterDown'] as const) {
    const delayMs = options[option] ?? 0
    if (delayMs > 0) found.push([option, delayMs, 0])
  }
  const { clusterNodeRetryStrategy, redisOptions } = options
  // A cluster's connections are not made again by themselves, unless they are told to.
  if (typeof clusterNodeRetryStrategy !== 'function') return found
  const ofNodes = { autoResendUnfulfilledCommands: true, maxRetriesPerRequest: 20, ...redisOptions }
  return [...found, ...retriesOf(ofNodes, 'redisOptions.')]
}

function retriesOf(options: IoredisOptions, path = ''): Resending[] {
  const { autoResendUnfulfilledCommands, maxRetriesPerRequest = 0 } = options
  const found: Resending[] = []
  if (autoResendUnfulfilledCommands === true)
    found.push([`${path}autoResendUnfulfilledCommands`, true, false])
  if (maxRetriesPerRequest !== 0) found.push([`${path}maxRetriesPerRequest`, maxRetriesPerRequest, 0])
  return found
}

interface NodeRedisOptions {
  disableOfflineQueue?: boolean
}

interface NodeRedis {
  options?: NodeRedisOptions
  /** Only of a cluster; the second has no public name. */
  masters?: unknown
  _options?: { defaults?: NodeRedisOptions }
}

/** node-redis sends nothing again that was on its way. It keeps what was not, unless it is told not to. */
function ofNodeRedis(client: NodeRedis): Resending[] {
  const isCluster = 'masters' in client
  const given = isCluster ? client._options : client.options
  if (typeof given !== 'object' || given === null) return []
  const { disableOfflineQueue = false } = (isCluster ? client._options?.defaults : client.options) ?? {}
  if (disableOfflineQueue) return []
  return [[isCluster ? 'defaults.disableOfflineQueue' : 'disableOfflineQueue', false, true]]
}
