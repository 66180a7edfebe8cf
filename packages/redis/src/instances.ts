import { INSTANCES_SCRIPT } from './script/lua.generated.js'
import { commandsOf } from './store-commands.js'

/*
 * The processes that use the same Redis under the same prefix. A sorted set has one line per process, with the time of its
 * last report as score. The next report of any process removes old lines, and the key expires after the last report.
 */

/** The registry of the processes that share a store: see `instancesOf`. Its methods reject if Redis fails. */
export interface SharedInstances {
  /** Records a line of text about this process. Returns the lines of all active processes, newest first. */
  report(line: string): Promise<string[]>
  /** Removes the line of this process. */
  leave(line: string): Promise<void>
}

/** A process that has not reported for this long is not listed. */
const GONE_AFTER_MS = 20_000
/** Longer and further lines are ignored, because any client of Redis could have written them. */
const MAX_LINE_BYTES = 1024
const MAX_LINES = 200

/**
 * Returns the registry of the processes that share a `RedisStore`. Report regularly: a process is listed for 20 seconds
 * after its last report.
 *
 * @example
 * ```ts
 * const instances = instancesOf(store)
 * const lines = await instances.report(`${hostname()} ${process.pid}`)
 * ```
 */
export function instancesOf(store: object): SharedInstances {
  const { prefix, send } = commandsOf(store)
  const key = `${prefix}:instances`
  return {
    async report(line) {
      const bytes = Buffer.byteLength(line)
      if (bytes > MAX_LINE_BYTES) {
        throw new RangeError(
          `The line of an instance must have at most ${MAX_LINE_BYTES} bytes, got ${bytes}. Shorten it.`,
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
