import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import type { Config } from '../config/config.js'
import { prettyStream } from './pretty.js'

/** Logs JSON, or formatted text on a terminal. */
export function createLog(level: Config['log']['level'], worker?: number): Logger {
  const options: LoggerOptions = {
    level,
    base: worker === undefined ? null : { worker },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  }
  return pino(options, process.stdout.isTTY ? prettyStream(process.stdout, process.env) : jsonStream())
}

/** Lines that cannot be written are buffered up to this size; further lines are dropped. */
const MAX_UNWRITTEN_BYTES = 1024 * 1024

/**
 * Writes to standard output asynchronously, because its reader may be slow. Handles errors, such as a full disk, because an
 * unhandled error event would end the process.
 */
function jsonStream(): DestinationStream {
  const stream = pino.destination({ dest: 1, sync: false, maxLength: MAX_UNWRITTEN_BYTES })
  let isFailing = false
  stream.on('error', () => {
    isFailing = true
  })
  stream.on('write', () => {
    isFailing = false
  })
  const { flushSync } = stream
  // At exit pino would retry forever to write the rest.
  stream.flushSync = () => {
    if (!isFailing) flushSync.call(stream)
  }
  return stream
}
