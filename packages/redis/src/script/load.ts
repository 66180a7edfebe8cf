import { CHECK_SCRIPT } from './lua.generated.js'

export interface Script {
  readonly text: string
  /** The SHA-1 of the text, for EVALSHA. */
  readonly sha: string
}

/** The script of all calls of the store: the files of `lua/`, concatenated at build time. */
export const SCRIPT: Script = CHECK_SCRIPT
