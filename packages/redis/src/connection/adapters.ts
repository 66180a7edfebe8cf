import { show, TidegateError } from '@tidegate/core'

/** The part of a Redis client that the store uses; the first three are required. */
export interface RedisConnection {
  /** Whether keys live in slots, on several nodes. */
  readonly isCluster: boolean
  /** Sends one command to the node of `key`. */
  send(key: string, command: string, args: string[]): Promise<unknown>
  close(): Promise<void>
  /**
   * Whether a command to a node would be written now; without a node, to any of a cluster, or to the server. Default:
   * commands are sent at any time.
   */
  isReady?(node?: string): boolean
  /** Calls the listener whenever a connection has become ready, or slots have other nodes. */
  onReady?(listener: () => void): void
  /** Why the connection is down, if known. */
  lostReason?(): string | undefined
  /** What the connection is waiting for while it is not ready. */
  waitsFor?(): string
  /** Calls the listener whenever `lostReason` becomes known. */
  onLost?(listener: () => void): void
  /** For a cluster: the node of a slot, as far as it is known. */
  nodeOf?(slot: number): string | undefined
  /** For a cluster: sends one command to a node, which is not redirected. Undefined if the node is not known. */
  sendTo?(node: string, command: string, args: string[]): Promise<unknown> | undefined
  /** Drops the connection to a server that hangs or has become a replica, and connects again. */
  leave?(node?: string): void
}

/** An ioredis client (`Redis` or `Cluster`), as far as it is used here. */
export interface IoredisClient {
  readonly isCluster?: boolean
  call(command: string, args: string[]): Promise<unknown>
  quit(): Promise<unknown>
}

/** The nodes of an ioredis `Cluster`. */
interface IoredisNodes {
  /** The primary and the replicas of each slot, as `host:port`. */
  readonly slots: string[][]
  readonly options: { keyPrefix?: string }
  nodes(role: 'master'): {
    readonly options: { host?: string; port?: number }
    call(command: string, args: string[]): Promise<unknown>
  }[]
}

/** A node-redis client, connected by the caller. */
export interface NodeRedisClient {
  readonly isOpen: boolean
  sendCommand(args: string[]): Promise<unknown>
}

/** A node-redis cluster client. */
export interface NodeRedisCluster {
  readonly masters: unknown
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>
}

/** The nodes of a node-redis cluster client. */
interface NodeRedisNodes {
  readonly slots: readonly { master: { address: string } }[]
  readonly masters: readonly { address: string }[]
  nodeClient(node: { address: string }): NodeRedisClient | Promise<NodeRedisClient>
}

/** Adapts a client that the caller made and will close. */
export function connectionOf(client: unknown): RedisConnection {
  if (typeof client === 'object' && client !== null) {
    // Its sendCommand() takes other arguments: every check would fail, and `onStoreFailure: 'open'` would allow it.
    if ('getSentinelNode' in client) {
      throw new TidegateError(
        'OPTION_INVALID',
        'RedisStore does not accept a Sentinel client of node-redis, which repeats calls that may have been executed. Write "redis+sentinel://host1,host2/name", or pass an ioredis client made with sentinels.',
      )
    }
    if (hasMethod(client, 'call')) return ofIoredis(client as IoredisClient)
    if (hasMethod(client, 'sendCommand') && 'masters' in client)
      return ofNodeRedisCluster(client as NodeRedisCluster)
    if (hasMethod(client, 'sendCommand') && ('isOpen' in client || hasMethod(client, 'connect')))
      return ofNodeRedis(client as NodeRedisClient)
    if ('sendCommand' in client || 'sendCommandCluster' in client) throw notRateLimitRedis(client)
  }
  throw new TidegateError(
    'OPTION_INVALID',
    `RedisStore accepts a URL such as "redis://localhost:6379", or an ioredis or node-redis client, got ${shape(client)}.`,
  )
}

function hasMethod(client: object, name: string): boolean {
  return typeof (client as Record<string, unknown>)[name] === 'function'
}

/**
 * The options of rate-limit-redis, whose class has the same name. Its `sendCommand` takes other arguments: every check
 * would fail, and `onStoreFailure: 'open'` would allow it.
 */
function notRateLimitRedis(options: object): TidegateError {
  const { prefix } = options as { prefix?: unknown }
  const own = prefix === undefined ? '' : `, { prefix: ${typeof prefix === 'string' ? show(prefix) : '…'} }`
  return new TidegateError(
    'OPTION_INVALID',
    `RedisStore accepts a URL or a Redis client, got an object with ${Object.keys(options).join(', ')}, as for rate-limit-redis. Pass the client itself: new RedisStore(client${own}).`,
    { field: 'redis' },
  )
}

/** Without the values: they may be secrets. */
function shape(value: unknown): string {
  if (typeof value !== 'object' || value === null) return show(value)
  return `an object with ${Object.keys(value).slice(0, 10).join(', ') || 'no properties'}`
}

async function leaveOpen(): Promise<void> {}

export function ofIoredis(client: IoredisClient): RedisConnection {
  return {
    isCluster: client.isCluster === true,
    send: (_key, command, args) => client.call(command, args),
    close: leaveOpen,
    ...('slots' in client && 'nodes' in client ? nodesOfIoredis(client as never) : {}),
  }
}

function nodesOfIoredis(cluster: IoredisNodes): Pick<RedisConnection, 'nodeOf' | 'sendTo'> {
  // ioredis adds the prefix only to keys that are declared.
  if (cluster.options.keyPrefix) return {}
  return {
    nodeOf: (slot) => cluster.slots[slot]?.[0],
    sendTo(node, command, args) {
      const isNode = ({ options }: { options: { host?: string; port?: number } }) =>
        `${options.host}:${options.port}` === node
      return cluster.nodes('master').find(isNode)?.call(command, args)
    },
  }
}

function ofNodeRedis(client: NodeRedisClient): RedisConnection {
  return {
    isCluster: false,
    send: (_key, command, args) => client.sendCommand([command, ...args]),
    close: leaveOpen,
  }
}

function ofNodeRedisCluster(client: NodeRedisCluster): RedisConnection {
  return {
    isCluster: true,
    send: (key, command, args) => client.sendCommand(key, false, [command, ...args]),
    close: leaveOpen,
    ...('slots' in client && 'nodeClient' in client ? nodesOfNodeRedis(client as never) : {}),
  }
}

function nodesOfNodeRedis(cluster: NodeRedisNodes): Pick<RedisConnection, 'nodeOf' | 'sendTo'> {
  return {
    nodeOf: (slot) => cluster.slots[slot]?.master.address,
    sendTo(address, command, args) {
      const node = cluster.masters.find((master) => master.address === address)
      return node && sendToNode(node)

      async function sendToNode(master: { address: string }): Promise<unknown> {
        return (await cluster.nodeClient(master)).sendCommand([command, ...args])
      }
    },
  }
}
