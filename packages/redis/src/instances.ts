import { INSTANCES_SCRIPT } from './lua.generated.js'
import { commandsOf } from './store-commands.js'

/*
 * Who uses the same Redis under the same prefix: a sorted set, in which each process keeps a line about itself with the
 * time at which it last said so. Whoever has not for a while is gone; when all are, so is the key.
 */

/** The processes that use a store, as they say themselves. */
export interface SharedInstances {
  /** Says that this process is there, and answers what all that are there say of themselves; the newest first. */
  report(line: string): Promise<string[]>
  /** Says that it is there no more. */
  leave(line: string): Promise<void>
}

/** Whoever has said nothing for as long is gone. */
const GONE_AFTER_MS = 20_000
/** Beyond these, lines are ignored: anybody who may write to Redis may have written them. */
const MAX_LINE_BYTES = 1024
const MAX_LINES = 200

/** Rejects whatever Redis rejects: it is for whoever lists to say what that means. */
export function instancesOf(store: object): SharedInstances {
  const { prefix, send } = commandsOf(store)
  const key = `${prefix}:instances`
  return {
    async report(line) {
      if (Buffer.byteLength(line) > MAX_LINE_BYTES) throw new RangeError('A line has at most 1024 bytes')
      const limits = [GONE_AFTER_MS, MAX_LINES, MAX_LINE_BYTES].map(String)
      const lines = await send(key, 'EVAL', [INSTANCES_SCRIPT.text, '1', key, line, ...limits])
      return Array.isArray(lines) ? lines.filter((line) => typeof line === 'string') : []
    },
    async leave(line) {
      await send(key, 'ZREM', [key, line])
    },
  }
}
