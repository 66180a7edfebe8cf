import type { ConnectionOptions } from 'node:tls'
import { show, TidegateError } from '@tidegate/core'
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis'
import { watchNodes } from './cluster-nodes.js'
import { ofIoredis, type RedisConnection } from './connection.js'
import { tlsConnector } from './tls-connector.js'

export interface ConnectOptions {
  /** User name, if it is not in the URL. Default: none. */
  username?: string
  /** Password, if it is not in the URL. Default: none. */
  password?: string
  /** TLS options for `rediss://`; with them, Sentinel and Cluster use TLS too. Default: none. */
  tls?: ConnectionOptions
  /** How long to wait for a connection, and for any answer on it, in milliseconds; at most 60,000. Default: 1000. */
  connectTimeoutMs?: number
}

export const CONNECT_TIMEOUT_MS = 1000

/** Connects to what a URL names: one server, a primary that sentinels know, or a cluster. */
export function connect(url: string, options: ConnectOptions): RedisConnection {
  const { scheme, hosts, path, username, password } = parseRedisUrl(url)
  const tls = scheme === 'rediss' ? { tls: options.tls ?? {} } : options.tls ? { tls: options.tls } : {}
  const user = options.username ?? username
  const secret = options.password ?? password
  const common: RedisOptions = {
    ...(user === undefined ? {} : { username: user }),
    ...(secret === undefined ? {} : { password: secret }),
    ...tls,
    connectTimeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    // A server that is stopped or cut off closes nothing: who is silent for as long is left, and looked for anew.
    socketTimeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    // A call whose connection was lost may have been executed: it is never sent again by itself. And what waits
    // for a connection waits in our own queue, which lets go of what is too old.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: retryDelayMs,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  }
  let lost: Error | undefined
  const client = open(scheme, hosts, path, common, (error) => {
    // Of a cluster that is reached, one node more or less is no reason.
    if (client.status !== 'ready') lost = error
  })
  // Every failed call is told to whoever made it; ioredis would print what nobody listens to.
  client.on('error', (error: Error & { lastNodeError?: Error }) => {
    const said = error.lastNodeError ?? error
    // All that a cluster says of a certificate that is refused.
    if (lost === undefined || said.message !== 'Connection is closed.') lost = said
  })
  // Not when it is ready: of a database that is not there it has heard by then.
  client.on('connect', () => {
    lost = undefined
  })
  return {
    ...ofIoredis(client as never),
    ...(client instanceof Cluster ? watchNodes(client) : watchServer(client)),
    close: async () => client.disconnect(),
    whyLost: () => lost?.message,
  }
}

function watchServer(client: Redis): Pick<RedisConnection, 'isReady' | 'onReady' | 'leave'> {
  // What ioredis calls ready nevertheless: a connection that is being left, or whose database is not the one asked for.
  let isUnfit = false
  client.on('connect', () => {
    isUnfit = false
  })
  client.on('error', (error: Error & { command?: { name: string } }) => {
    if (error.command?.name === 'select') isUnfit = true
  })
  const isReady = () => client.status === 'ready' && !isUnfit
  return {
    isReady,
    onReady: (listener) =>
      client.on('ready', () => {
        if (isReady()) listener()
      }),
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
      // Its offline queue stays on: it needs it to connect. `watchNodes` keeps it empty.
      redisOptions: direct,
      // ioredis would go to the address of a host, and a certificate is for its name.
      ...(common.tls ? { dnsLookup: (host, found) => found(null, host) } : {}),
      clusterRetryStrategy: retryDelayMs,
      // Again: a call whose connection was lost is never sent again by itself.
      retryDelayOnFailover: 0,
      // One that was refused could be, but not for seconds: its caller has long been answered. 0 is never; of the other
      // there is no never, and all the times together are shorter than a deadline.
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
      // `tls` alone would mean nothing here: ioredis has one option for the primary, and one for the sentinels.
      ...(common.tls ? { enableTLSForSentinelMode: true, sentinelTLS: common.tls } : {}),
      sentinelRetryStrategy: retryDelayMs,
    })
  }
  return new Redis({ ...direct, ...hosts[0]!, db: path === '' ? 0 : Number(path) })
}

/**
 * The first soon: what waits to be written while a connection is replaced should still be in time. Not at once, since a
 * server that takes connections and loses them must not be asked without end.
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

/** Several hosts are more than `URL` can take apart, so: scheme://[user[:password]@]host[:port],…[/path]. */
export function parseRedisUrl(url: string) {
  const match =
    /^(rediss?|redis\+sentinel|redis\+cluster):\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([^/?#@]*))?$/.exec(url)
  if (!match) {
    const hint = url.includes('@') ? ' (a password with / or @ in it needs %2F and %40)' : ''
    throw invalid(url, `it is not written like one of them${hint}`)
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
    throw invalid(url, 'a % in it does not begin an escape; write %25 for one that stands for itself')
  }
}

function hostOf(url: string, text: string, defaultPort: number): Host {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text)
  const port = Number(match?.[2] ?? defaultPort)
  if (!match || port < 1 || port > 65_535) throw invalid(url, `${show(text)} is not a host and a port`)
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port }
}

function invalid(url: string, why: string): TidegateError {
  // Never the password, even one with a / or @ in it: the message may be logged.
  const shown = url.replace(/\/\/.*@/s, '//…@')
  return new TidegateError(
    'OPTION_INVALID',
    `${show(shown)} is no Redis address: ${why}. Write redis://host:6379, rediss://user:password@host, redis+sentinel://host1,host2/name or redis+cluster://host1,host2.`,
    { field: 'url' },
  )
}
