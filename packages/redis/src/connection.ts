import { show, TidegateError } from '@tidegate/core'

/** What the store needs of a Redis client; the first three are required. */
export interface RedisConnection {
  /** Whether keys live in slots, on several nodes. */
  readonly isCluster: boolean
  /** Sends one command to the node of `key`. */
  send(key: string, command: string, args: string[]): Promise<unknown>
  close(): Promise<void>
  /** Whether a command would be written now. Default: commands are sent at any time. */
  isReady?(slot: number): boolean
  /** Calls the listener whenever it has become ready. */
  onReady?(listener: () => void): void
  /** Why there is no connection, where that is known. */
  lostReason?(): string | undefined
  /** What a connection that is not ready waits for. */
  waitsFor?(): string
  /** Calls the listener whenever `lostReason` becomes known. */
  onLost?(listener: () => void): void
  /** Of a cluster: the node of a slot, as far as it is known. */
  nodeOf?(slot: number): string | undefined
  /** Drops the connection to a server that hangs or has become a replica, and connects again. */
  leave?(slot: number): void
}

/** An ioredis client (`Redis` or `Cluster`), as far as it is used here. */
export interface IoredisClient {
  readonly isCluster?: boolean
  call(command: string, args: string[]): Promise<unknown>
  quit(): Promise<unknown>
}

/** A node-redis client, connected by the caller. */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>
}

/** A node-redis cluster client. */
export interface NodeRedisCluster {
  readonly masters: unknown
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>
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
    if ('call' in client) return ofIoredis(client as IoredisClient)
    if ('sendCommand' in client && 'masters' in client) return ofNodeRedisCluster(client as NodeRedisCluster)
    if ('sendCommand' in client) return ofNodeRedis(client as NodeRedisClient)
  }
  throw new TidegateError(
    'OPTION_INVALID',
    `RedisStore accepts a URL such as "redis://localhost:6379", or an ioredis or node-redis client, got ${show(client)}.`,
  )
}

async function leaveOpen(): Promise<void> {}

export function ofIoredis(client: IoredisClient): RedisConnection {
  return {
    isCluster: client.isCluster === true,
    send: (_key, command, args) => client.call(command, args),
    close: leaveOpen,
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
  }
}
