import type { RedisConnection } from './connection.js'

/** What a store's own connection can be asked for beside the store: for `instancesOf` and for the service's race. */
export interface StoreCommands {
  /** What every key in Redis begins with. */
  readonly prefix: string
  /** Sends one command to wherever `key` lives. Rejects if it cannot be sent now, or is not answered. */
  send(key: string, command: string, args: string[]): Promise<unknown>
}

const known = new WeakMap<object, StoreCommands>()

export function keepCommands(store: object, { send }: RedisConnection, prefix: string): void {
  known.set(store, { prefix, send })
}

/** The commands of a `RedisStore`. Not for users of the package: they have a client of their own. */
export function commandsOf(store: object): StoreCommands {
  const commands = known.get(store)
  if (commands === undefined) throw new TypeError('commandsOf() takes a RedisStore')
  return commands
}
