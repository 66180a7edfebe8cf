import type { Config } from '../config/config.js'
import type { FileText, LoadResult } from '../config/load.js'

export interface StartOptions {
  readonly config: Config
  /** The text of the file that `config` was loaded from. */
  readonly text: FileText
  /** Loads a text with the same environment and command line. */
  readonly load: (text: FileText) => LoadResult
  /** The file to watch, and to read again on SIGHUP; undefined if there is none. */
  readonly file: string | undefined
  /** Number of processes. More than 1 needs a shared store. */
  readonly workers: number
}

export interface RunningServer {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Stops accepting connections, finishes the requests in flight, and closes the store. */
  close(): Promise<void>
}
