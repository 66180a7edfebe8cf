import type { Config } from '../config/config.js'
import type { FileText, Loaded } from '../config/load.js'

export interface StartOptions {
  readonly config: Config
  /** What `config` was made of. */
  readonly text: FileText
  /** Makes a configuration of a text, and of the same environment and command line. */
  readonly load: (text: FileText) => Loaded
  /** The file to watch, and to read again on SIGHUP; undefined if there is none. */
  readonly file: string | undefined
  /** How many processes serve. Above 1 only with a store that they share. */
  readonly workers: number
}

export interface RunningServer {
  /** Where it answers, such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Stops accepting, finishes what is in flight, lets go of the store. */
  close(): Promise<void>
}
