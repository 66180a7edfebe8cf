import type { Config } from '../config/config.js'
import type { Loaded } from '../config/load.js'

export interface StartOptions {
  readonly config: Config
  /** Reads the configuration again, from the same places: for a changed file and for SIGHUP. */
  readonly load: () => Loaded
  /** The file to watch; undefined if there is none. */
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
