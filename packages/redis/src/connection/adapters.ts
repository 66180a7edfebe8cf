import { show, showKeys, TidegateError } from '@tidegate/core'

/** The operations of a Redis client that the store uses. */
export interface RedisConnection {
  /** Whether the client is connected to a cluster. */
  readonly isCluster: boolean
  /** Sends one command to the node of `key`. */
  send(key: string, command: string, args: string[]): Promise<unknown>
  close(): Promise<void>
  /**
   * Whether a command to a node would be written immediately; without a node, to the server or to any node of a cluster.
   * Default: true.
   */
  isReady?(node?: string): boolean
  /** Calls the listener whenever a connection becomes ready, or slots have moved to other nodes. */
  onReady?(listener: () => void): void
  /** Why the connection is down, if known. */
  lostReason?(): string | undefined
  /** What the connection is waiting for while it is not ready. */
  waitsFor?(): string
  /** Calls the listener whenever `lostReason` becomes known. */
  onLost?(listener: () => void): void
  /** For a cluster: the node of a slot, if it is known. */
  nodeOf?(slot: number): string | undefined
  /** For a cluster: sends one command to a node, without redirections. Undefined if the node is unknown. */
  sendTo?(node: string, command: string, args: string[]): Promise<unknown> | undefined
  /** Drops the connection to a server that hangs or has become a replica, and reconnects. */
  leave?(node?: string): void
}

/** An ioredis client: the used part of `Redis` and `Cluster`. */
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

/** A connected node-redis client: the used part of `createClient()`. */
export interface NodeRedisClient {
  readonly isOpen: boolean
  sendCommand(args: string[]): Promise<unknown>
}

/** A connected node-redis cluster client: the used part of `createCluster()`. */
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

/** Adapts a client of the caller, who also closes it. */
export function connectionOf(client: unknown): RedisConnection {
  if (typeof client === 'object' && client !== null) {
    // Its sendCommand() has other parameters, so every check would fail, and `onStoreFailure: 'open'` would allow it.
    if ('getSentinelNode' in client) {
      throw new TidegateError(
        'OPTION_INVALID',
        'RedisStore does not accept a Sentinel client of node-redis, which repeats calls that may have been executed. Write for example new RedisStore("redis+sentinel://host1,host2/name"), or pass an ioredis client created with sentinels.',
      )
    }
    if (hasMethod(client, 'call')) return ofIoredis(client as IoredisClient)
    if (hasMethod(client, 'sendCommand') && 'masters' in client)
      return ofNodeRedisCluster(client as NodeRedisCluster)
    if (hasMethod(client, 'sendCommand') && ('isOpen' in client || hasMethod(client, 'connect')))
      return ofNodeRedis(client as NodeRedisClient)
    if (isPlainObject(client) && ('sendCommand' in client || 'sendCommandCluster' in client))
      throw notRateLimitRedis(client)
  }
  throw new TidegateError(
    'OPTION_INVALID',
    `RedisStore needs a Redis URL, an ioredis client or a node-redis client, got ${showKeys(client)}. Write for example new RedisStore("redis://localhost:6379").`,
  )
}

function hasMethod(client: object, name: string): boolean {
  return typeof (client as Record<string, unknown>)[name] === 'function'
}

/** Unlike options, clients are objects of a class. */
function isPlainObject(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype
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
    `RedisStore accepts a URL or a Redis client, got ${showKeys(options)}, as for rate-limit-redis. Pass the client itself: new RedisStore(client${own}).`,
    { field: 'redis' },
  )
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
  // ioredis adds the prefix only to declared keys.
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
