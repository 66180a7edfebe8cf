import { show, TidegateError } from '@tidegate/core'

/** All that the store needs of a Redis client: the first three. Adapters for others are as short as these. */
export interface RedisConnection {
  /** Whether keys live in slots, on several nodes. */
  readonly isCluster: boolean
  /** Sends one command to wherever `key` lives. */
  send(key: string, command: string, args: string[]): Promise<unknown>
  close(): Promise<void>
  /** Whether a command would be written now. Without it, commands are sent whenever there are some. */
  isReady?(slot: number): boolean
  /** Calls whenever it has become ready. */
  onReady?(listener: () => void): void
  /** Of a cluster: the node that a slot is on, as far as it is known. */
  nodeOf?(slot: number): string | undefined
  /** Leaves the server for whichever is there now: it has become a replica. */
  leave?(): void
  /** Why there was no connection the last time, where it is known. */
  whyLost?(): string | undefined
}

/** An ioredis client (`Redis` or `Cluster`), as far as it is used here. */
export interface IoredisClient {
  readonly isCluster?: boolean
  call(command: string, args: string[]): Promise<unknown>
  quit(): Promise<unknown>
}

/** A node-redis client. It must be connected by whoever made it. */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>
}

/** A node-redis cluster client. */
export interface NodeRedisCluster {
  readonly masters: unknown
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>
}

/** A client that somebody else made, and will close. */
export function connectionOf(client: unknown): RedisConnection {
  if (typeof client === 'object' && client !== null) {
    // Its sendCommand() takes other arguments: every check would fail, and with `onStoreFailure: 'open'` be let through.
    if ('getSentinelNode' in client) {
      throw new TidegateError(
        'OPTION_INVALID',
        'RedisStore takes no Sentinel client of node-redis, which sends again what may have been carried out. Write "redis+sentinel://host1,host2/name", or hand in an ioredis client made with sentinels.',
      )
    }
    if ('call' in client) return ofIoredis(client as IoredisClient)
    if ('sendCommand' in client && 'masters' in client) return ofNodeRedisCluster(client as NodeRedisCluster)
    if ('sendCommand' in client) return ofNodeRedis(client as NodeRedisClient)
  }
  throw new TidegateError(
    'OPTION_INVALID',
    `RedisStore takes a URL such as "redis://localhost:6379", or an ioredis or node-redis client, got ${show(client)}.`,
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
