import type { ConnectionOptions } from 'node:tls'
import { redactUrl, show, TidegateError } from '@tidegate/core'
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis'
import { ofIoredis, type RedisConnection } from './adapters.js'
import { unref, watchNodes } from './cluster-nodes.js'
import { watchHandshake } from './handshake.js'
import { tlsConnector } from './tls.js'

/** Options of the connection of a `RedisStore` with a URL. */
export interface ConnectOptions {
  /** The user name, if it is not in the URL. Default: none. */
  username?: string
  /** The password, if it is not in the URL. Default: none. */
  password?: string
  /** TLS options for `rediss://`. They also enable TLS for Sentinel and Cluster. Default: none. */
  tls?: ConnectionOptions
  /**
   * The timeout for connecting, and for a reply before the connection is replaced, in milliseconds, 1 to 60,000.
   * Default: 1000.
   */
  connectTimeoutMs?: number
}

export const CONNECT_TIMEOUT_MS = 1000

/** Connects to the server, Sentinel primary or cluster of a URL. */
export function connect(url: string, options: ConnectOptions): RedisConnection {
  const { scheme, hosts, path, username, password } = parseRedisUrl(url)
  const tls = scheme === 'rediss' ? { tls: options.tls ?? {} } : options.tls ? { tls: options.tls } : {}
  const user = options.username ?? username
  const secret = options.password ?? password
  const timeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS
  const common: RedisOptions = {
    ...(user === undefined ? {} : { username: user }),
    ...(secret === undefined ? {} : { password: secret }),
    ...tls,
    // Far longer than checks wait, so that a starved process does not mistake its own delay for a lost server.
    connectTimeout: Math.max(5000, timeoutMs),
    // A call whose connection was lost may have been executed, so it is never resent. Calls wait for a connection in the
    // queue of the batcher, which drops calls that are too old.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: retryDelayMs,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  }
  const addresses = hosts.map(({ host, port }) => `${host}:${port}`).join(', ')
  /** The error of the last failed attempt to connect. The end of a working connection does not count. */
  let connectError: Error | undefined
  let wasReady = false
  const lostListeners: (() => void)[] = []
  function lose(error: Error): void {
    connectError = error
    for (const listener of lostListeners) listener()
  }
  const client = open(scheme, hosts, path, common, (error) => {
    // A cluster with other nodes available is not lost.
    if (client.status !== 'ready') lose(error)
  })
  client.on('ready', () => {
    wasReady = true
  })
  client.on('close', () => {
    wasReady = false
  })
  // Failed calls reject. Without this listener, ioredis would also print the errors.
  client.on('error', (error: Error & { lastNodeError?: Error }) => {
    if (wasReady) return
    const reported = error.lastNodeError ?? error
    // For a rejected certificate, a cluster reports this generic message after the real reason.
    if (connectError === undefined || reported.message !== 'Connection is closed.') lose(reported)
  })
  // On 'connect', because a missing database is reported before 'ready'.
  client.on('connect', () => {
    connectError = undefined
  })
  return {
    ...ofIoredis(client as never),
    ...(client instanceof Cluster ? watchNodes(client, timeoutMs) : watchServer(client, timeoutMs)),
    close: async () => client.disconnect(),
    lostReason: () => connectError && reasonOf(connectError),
    waitsFor: () =>
      common.tls === undefined
        ? `no connection to ${addresses}`
        : `no TLS connection to ${addresses}; check that the port speaks TLS`,
    onLost: (listener) => lostListeners.push(listener),
  }
}

/** The message of an error. An error of several addresses, such as those of "localhost", has nested messages. */
function reasonOf(error: Error): string {
  const { message, errors } = error as AggregateError
  return message || errors?.map((one: Error) => one.message).join('; ') || error.name
}

function watchServer(
  client: Redis,
  timeoutMs: number,
): Pick<RedisConnection, 'isReady' | 'onReady' | 'leave'> {
  watchHandshake(client, timeoutMs, () => client.disconnect(true))
  // ioredis reports a connection as ready even while it is being dropped, or if its database could not be selected.
  let isUnusable = false
  client.on('connect', () => {
    isUnusable = false
    unref(client)
  })
  client.on('error', (error: Error & { command?: { name: string } }) => {
    if (error.command?.name === 'select') isUnusable = true
  })
  const isReady = () => client.status === 'ready' && !isUnusable
  // A separate list, because Node.js warns about more than ten listeners on one emitter.
  const listeners: (() => void)[] = []
  client.on('ready', () => {
    if (isReady()) for (const listener of listeners) listener()
  })
  return {
    isReady,
    onReady: (listener) => listeners.push(listener),
    leave() {
      if (!isReady()) return
      isUnusable = true
      client.disconnect(true)
    },
  }
}

function open(
  scheme: Scheme,
  hosts: Host[],
  path: string,
  common: RedisOptions,
  onTlsError: (error: Error) => void,
): Redis | Cluster {
  const direct: RedisOptions = common.tls ? { ...common, Connector: tlsConnector(onTlsError) } : common
  if (scheme === 'redis+cluster') {
    return new Cluster(hosts, {
      // Its offline queue stays on: ioredis needs it to connect. `watchNodes` keeps it empty.
      redisOptions: direct,
      // ioredis would connect to the address of a host, but a certificate is issued for its name.
      ...(common.tls ? { dnsLookup: (host, found) => found(null, host) } : {}),
      clusterRetryStrategy: retryDelayMs,
      // A call whose connection was lost is never resent.
      retryDelayOnFailover: 0,
      // Retrying a rejected call would be safe, but must not take seconds, because its caller has stopped waiting by then.
      // 0 disables the first; the second cannot be disabled, but all its retries together are shorter than a deadline.
      retryDelayOnClusterDown: 0,
      retryDelayOnTryAgain: 3,
      slotsRefreshTimeout: common.connectTimeout ?? CONNECT_TIMEOUT_MS,
      slotsRefreshInterval: 5000,
    } satisfies ClusterOptions)
  }
  if (scheme === 'redis+sentinel') {
    return new Redis({
      ...common,
      sentinels: hosts,
      name: path,
      // ioredis ignores `tls` alone, and has separate options for the primary and the sentinels.
      ...(common.tls ? { enableTLSForSentinelMode: true, sentinelTLS: common.tls } : {}),
      sentinelRetryStrategy: retryDelayMs,
    })
  }
  return new Redis({ ...direct, ...hosts[0]!, db: path === '' ? 0 : Number(path) })
}

/**
 * The delay before a reconnect. The first delay is short, so that calls that wait for a replaced connection are still in
 * time, but not 0, so that a server that drops connections is not flooded.
 */
function retryDelayMs(attempt: number): number {
  return attempt === 1 ? 10 : Math.min(50 * (attempt - 1), 500)
}

type Scheme = 'redis' | 'rediss' | 'redis+sentinel' | 'redis+cluster'

interface Host {
  host: string
  port: number
}

const DEFAULT_PORT: Record<Scheme, number> = {
  redis: 6379,
  rediss: 6379,
  'redis+sentinel': 26379,
  'redis+cluster': 6379,
}

/**
 * Parses a Redis URL: `scheme://[user[:password]@]host[:port],…[/path]`. `URL` cannot parse several hosts. Throws
 * `OPTION_INVALID`.
 */
export function parseRedisUrl(url: string) {
  const match =
    /^(rediss?|redis\+sentinel|redis\+cluster):\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([^/?#@]*))?$/.exec(url)
  if (!match) {
    const hint = url.includes('@') ? ' (a password with / or @ in it needs %2F and %40)' : ''
    throw invalid(url, `the format is wrong${hint}`)
  }
  const scheme = match[1] as Scheme
  const [user, ...passwordParts] = (match[2] ?? '').split(':')
  const hosts = match[3]!.split(',').map((text) => hostOf(url, text, DEFAULT_PORT[scheme]))
  const path = decoded(url, match[4] ?? '')
  if (hosts.length > 1 && !scheme.includes('+'))
    throw invalid(url, 'several hosts need redis+sentinel:// or redis+cluster://')
  if (scheme === 'redis+sentinel' && path === '')
    throw invalid(url, "the primary's name is missing after the hosts")
  if (scheme === 'redis+cluster' && path !== '')
    throw invalid(url, 'a cluster has only one database, so the path must be empty')
  if (!scheme.includes('+') && !/^\d{0,5}$/.test(path))
    throw invalid(url, 'the database after the host must be a number')
  return {
    scheme,
    hosts,
    path,
    username: user ? decoded(url, user) : undefined,
    password: passwordParts.length > 0 ? decoded(url, passwordParts.join(':')) : undefined,
  }
}

function decoded(url: string, text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalid(url, 'a % in it does not begin an escape; write %25 for a literal %')
  }
}

function hostOf(url: string, text: string, defaultPort: number): Host {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text)
  const port = Number(match?.[2] ?? defaultPort)
  if (!match || port < 1 || port > 65_535) throw invalid(url, `${show(text)} is not a host and a port`)
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port }
}

function invalid(url: string, why: string): TidegateError {
  // Never with the password, because the message may be logged.
  return new TidegateError(
    'OPTION_INVALID',
    `${show(redactUrl(url))} is not a valid Redis address: ${why}. Write redis://host:6379, rediss://user:password@host, redis+sentinel://host1,host2/name or redis+cluster://host1,host2.`,
    { field: 'url' },
  )
}
