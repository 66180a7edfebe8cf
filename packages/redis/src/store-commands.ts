import { showKeys } from '@tidegate/core'
import type { RedisConnection } from './connection/adapters.js'

/** Commands on the connection of a store, for `instancesOf` and for the service's race. */
export interface StoreCommands {
  /** The prefix of every key in Redis. */
  readonly prefix: string
  /** Sends one command to the node of `key`. Rejects if it cannot be sent now, or gets no reply. */
  send(key: string, command: string, args: string[]): Promise<unknown>
}

const commandsByStore = new WeakMap<object, StoreCommands>()

/** Records the commands of a store, for `commandsOf`. */
export function keepCommands(store: object, { send }: RedisConnection, prefix: string): void {
  commandsByStore.set(store, { prefix, send })
}

/** Returns the commands of a `RedisStore`. Internal: users of the package have their own client. */
export function commandsOf(store: object): StoreCommands {
  const commands = commandsByStore.get(store)
  if (commands === undefined)
    throw new TypeError(
      `store must be a RedisStore, got ${showKeys(store)}. Write for example new RedisStore(url).`,
    )
  return commands
}
