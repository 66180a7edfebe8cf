import type { ConnectionOptions } from 'node:tls'
import { show, TidegateError } from '@tidegate/core'
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis'
import { ofIoredis, type RedisConnection } from './adapters.js'
import { unref, watchNodes } from './cluster-nodes.js'
import { watchHandshake } from './handshake.js'
import { tlsConnector } from './tls.js'

export interface ConnectOptions {
  /** User name, if it is not in the URL. Default: none. */
  username?: string
  /** Password, if it is not in the URL. Default: none. */
  password?: string
  /** TLS options for `rediss://`; with them, Sentinel and Cluster use TLS too. Default: none. */
  tls?: ConnectionOptions
  /**
   * How long a call waits for a connection, and for a reply before the connection is replaced, in milliseconds; at most
   * 60,000. Default: 1000.
   */
  connectTimeoutMs?: number
}

export const CONNECT_TIMEOUT_MS = 1000

/** Connects to the server, the Sentinel primary or the cluster that a URL names. */
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
    // Far longer than checks wait for a connection: a starved process must not mistake its own delay for a lost server.
    connectTimeout: Math.max(5000, timeoutMs),
    // A call whose connection was lost may have been executed: it is never sent twice. Calls that wait for a
    // connection wait in the queue of the batcher, which drops those that are too old.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: retryDelayMs,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  }
  const addresses = hosts.map(({ host, port }) => `${host}:${port}`).join(', ')
  /** Why the last attempt to connect failed. The end of a connection that worked is not such a reason. */
  let lost: Error | undefined
  let wasReady = false
  const lostListeners: (() => void)[] = []
  function lose(error: Error): void {
    lost = error
    for (const listener of lostListeners) listener()
  }
  const client = open(scheme, hosts, path, common, (error) => {
    // A cluster that is reachable is not lost when one of its nodes is.
    if (client.status !== 'ready') lose(error)
  })
  client.on('ready', () => {
    wasReady = true
  })
  client.on('close', () => {
    wasReady = false
  })
  // Every failed call rejects; without a listener ioredis would also print the error.
  client.on('error', (error: Error & { lastNodeError?: Error }) => {
    if (wasReady) return
    const reported = error.lastNodeError ?? error
    // A cluster reports a rejected certificate only with this message, after the real reason.
    if (lost === undefined || reported.message !== 'Connection is closed.') lose(reported)
  })
  // Not on 'ready': a missing database has been reported by then.
  client.on('connect', () => {
    lost = undefined
  })
  return {
    ...ofIoredis(client as never),
    ...(client instanceof Cluster ? watchNodes(client, timeoutMs) : watchServer(client, timeoutMs)),
    close: async () => client.disconnect(),
    lostReason: () => lost && reasonOf(lost),
    waitsFor: () =>
      common.tls === undefined
        ? `no connection to ${addresses}`
        : `no TLS connection to ${addresses}; check that the port speaks TLS`,
    onLost: (listener) => lostListeners.push(listener),
  }
}

/** An error of several addresses, such as those of "localhost", has its messages inside. */
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
  let isUnfit = false
  client.on('connect', () => {
    isUnfit = false
    unref(client)
  })
  client.on('error', (error: Error & { command?: { name: string } }) => {
    if (error.command?.name === 'select') isUnfit = true
  })
  const isReady = () => client.status === 'ready' && !isUnfit
  // A list of our own: Node warns of more than ten listeners on one emitter.
  const listeners: (() => void)[] = []
  client.on('ready', () => {
    if (isReady()) for (const listener of listeners) listener()
  })
  return {
    isReady,
    onReady: (listener) => listeners.push(listener),
    leave() {
      if (!isReady()) return
      isUnfit = true
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
      // A call whose connection was lost is never sent twice.
      retryDelayOnFailover: 0,
      // A rejected call could be repeated, but not for seconds: its caller has stopped waiting by then. 0 turns the
      // first off; the second cannot be turned off, and all its retries together are shorter than a deadline.
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
      // ioredis ignores `tls` alone here: it has one option for the primary and one for the sentinels.
      ...(common.tls ? { enableTLSForSentinelMode: true, sentinelTLS: common.tls } : {}),
      sentinelRetryStrategy: retryDelayMs,
    })
  }
  return new Redis({ ...direct, ...hosts[0]!, db: path === '' ? 0 : Number(path) })
}

/**
 * The first retry is soon, so that calls waiting for a replaced connection are still in time. Not immediate: a server
 * that accepts and drops connections must not be hammered.
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

/** `URL` cannot parse several hosts. The format is scheme://[user[:password]@]host[:port],…[/path]. */
export function parseRedisUrl(url: string) {
  const match =
    /^(rediss?|redis\+sentinel|redis\+cluster):\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([^/?#@]*))?$/.exec(url)
  if (!match) {
    const hint = url.includes('@') ? ' (a password with / or @ in it needs %2F and %40)' : ''
    throw invalid(url, `the format is wrong${hint}`)
  }
  const scheme = match[1] as Scheme
  const [user, ...rest] = (match[2] ?? '').split(':')
  const hosts = match[3]!.split(',').map((text) => hostOf(url, text, DEFAULT_PORT[scheme]))
  const path = decoded(url, match[4] ?? '')
  if (hosts.length > 1 && !scheme.includes('+'))
    throw invalid(url, 'several hosts need redis+sentinel:// or redis+cluster://')
  if (scheme === 'redis+sentinel' && path === '')
    throw invalid(url, "the primary's name is missing after the hosts")
  if (scheme === 'redis+cluster' && path !== '') throw invalid(url, 'a cluster has no databases to choose')
  if (!scheme.includes('+') && !/^\d{0,5}$/.test(path))
    throw invalid(url, 'the database after the host must be a number')
  return {
    scheme,
    hosts,
    path,
    username: user ? decoded(url, user) : undefined,
    password: rest.length > 0 ? decoded(url, rest.join(':')) : undefined,
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
  // Never the password, however the address is written: the message may be logged.
  const shown = url.replace(/^([a-z+]*:)?(\/\/)?.*@/is, '$1$2…@')
  return new TidegateError(
    'OPTION_INVALID',
    `${show(shown)} is not a valid Redis address: ${why}. Write redis://host:6379, rediss://user:password@host, redis+sentinel://host1,host2/name or redis+cluster://host1,host2.`,
    { field: 'url' },
  )
}
