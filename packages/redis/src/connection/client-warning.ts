import { show } from '@tidegate/core'

/*
 * A call whose connection was lost may have been executed: if it is resent, it takes its units twice. A call that waits for
 * a connection may be executed after its caller has given up. Clients created by this package do neither; the options of
 * other clients are checked. Retries after MOVED, ASK and TRYAGAIN are safe, because such calls were not executed.
 */

/** An option that makes a client resend or queue calls: its name, its value, and the recommended value. */
type Resending = readonly [option: string, is: unknown, shouldBe: unknown]

/** The clients with a printed warning, so that several stores of one client warn once. */
const clientsWithWarning = new WeakSet<object>()

export function warnIfItResends(client: object): void {
  if (clientsWithWarning.has(client)) return
  const options = 'call' in client ? ofIoredis(client as Ioredis) : ofNodeRedis(client as NodeRedis)
  if (options.length === 0) return
  clientsWithWarning.add(client)
  const advice = options.map(([option, is, shouldBe]) => `${option}: ${show(shouldBe)} (now ${show(is)})`)
  process.emitWarning(
    'The Redis client passed to RedisStore can resend a check, or send it late. A check ' +
      `that is executed twice takes its units twice. Create the client with ${advice.join(', ')}.`,
    { type: 'TidegateWarning', code: 'TIDEGATE_CLIENT_RESENDS' },
  )
}

interface IoredisOptions {
  enableOfflineQueue?: boolean
  autoResendUnfulfilledCommands?: boolean
  maxRetriesPerRequest?: number | null
  /** Cluster only. */
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
  // Connections to the nodes of a cluster are retried only with a retry strategy.
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
  /** Cluster only. */
  masters?: unknown
  /** Cluster only: the options, which have no public accessor. */
  _options?: { defaults?: NodeRedisOptions }
}

/** node-redis never resends a call that was sent. It queues calls while offline unless `disableOfflineQueue` is set. */
function ofNodeRedis(client: NodeRedis): Resending[] {
  const isCluster = 'masters' in client
  const clientOptions = isCluster ? client._options : client.options
  if (typeof clientOptions !== 'object' || clientOptions === null) return []
  const { disableOfflineQueue = false } = (isCluster ? client._options?.defaults : client.options) ?? {}
  if (disableOfflineQueue) return []
  return [[isCluster ? 'defaults.disableOfflineQueue' : 'disableOfflineQueue', false, true]]
}
