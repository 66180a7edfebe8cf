import { type Logger, type LoggerOptions, pino } from 'pino'
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
  return process.stdout.isTTY ? pino(options, prettyStream(process.stdout, process.env)) : pino(options)
}
