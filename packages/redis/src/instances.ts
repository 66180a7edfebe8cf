import { INSTANCES_SCRIPT } from './script/lua.generated.js'
import { commandsOf } from './store-commands.js'

/*
 * The processes that use the same Redis under the same prefix. A sorted set has one line for each process, scored with the
 * time of its last report. Old lines are removed by the next report, and the key expires after the last one.
 */

/** The processes that share a store. Every method rejects if Redis does. */
export interface SharedInstances {
  /** Records a line about this process, and returns the lines of all active processes, the newest first. */
  report(line: string): Promise<string[]>
  /** Removes the line of this process. */
  leave(line: string): Promise<void>
}

/** A process that has not reported for this long is not listed any more. */
const GONE_AFTER_MS = 20_000
/** Longer lines and further lines are ignored: any client of Redis can have written them. */
const MAX_LINE_BYTES = 1024
const MAX_LINES = 200

export function instancesOf(store: object): SharedInstances {
  const { prefix, send } = commandsOf(store)
  const key = `${prefix}:instances`
  return {
    async report(line) {
      const bytes = Buffer.byteLength(line)
      if (bytes > MAX_LINE_BYTES) {
        throw new RangeError(
          `A line about an instance must have at most ${MAX_LINE_BYTES} bytes, got ${bytes}.`,
        )
      }
      const limits = [GONE_AFTER_MS, MAX_LINES, MAX_LINE_BYTES].map(String)
      const lines = await send(key, 'EVAL', [INSTANCES_SCRIPT.text, '1', key, line, ...limits])
      return Array.isArray(lines) ? lines.filter((line) => typeof line === 'string') : []
    },
    async leave(line) {
      await send(key, 'ZREM', [key, line])
    },
  }
}
