import type { RedisConnection } from './connection/adapters.js'

/** Commands on the connection of a store, for `instancesOf` and for the service's race. */
export interface StoreCommands {
  /** The prefix of every key in Redis. */
  readonly prefix: string
  /** Sends one command to the node of `key`. Rejects if it cannot be sent now, or is not answered. */
  send(key: string, command: string, args: string[]): Promise<unknown>
}

const commandsByStore = new WeakMap<object, StoreCommands>()

export function keepCommands(store: object, { send }: RedisConnection, prefix: string): void {
  commandsByStore.set(store, { prefix, send })
}

/** The commands of a `RedisStore`. Not for users of the package: they have a client of their own. */
export function commandsOf(store: object): StoreCommands {
  const commands = commandsByStore.get(store)
  if (commands === undefined) throw new TypeError('commandsOf() takes a RedisStore')
  return commands
}
