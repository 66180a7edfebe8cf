import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import type { Config } from '../config/config.js'
import { prettyStream } from './pretty.js'

/** One line for each thing that changes: JSON, or text for people on a terminal. */
export function createLog(level: Config['log']['level'], worker?: number): Logger {
  const options: LoggerOptions = {
    level,
    base: worker === undefined ? null : { worker },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  }
  return pino(options, process.stdout.isTTY ? prettyStream(process.stdout, process.env) : jsonStream())
}

/** So much is kept of what cannot be written, for when it can be again; beyond it lines are lost. */
const MAX_UNWRITTEN_BYTES = 1024 * 1024

/**
 * Standard output, written by and by: whoever reads it may be slow. Nothing that happens to it ends or stops the service,
 * as an error that nobody hears would; the disk may be full.
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
  // At the end pino would try without end to write what is left.
  stream.flushSync = () => {
    if (!isFailing) flushSync.call(stream)
  }
  return stream
}
