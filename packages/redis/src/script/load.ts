import { CHECK_SCRIPT } from './lua.generated.js'

export interface Script {
  readonly text: string
  /** The name of the script in EVALSHA: the SHA-1 of its text. */
  readonly sha: string
}

/** The script of every call of the store: the files of `lua/` in one text, written at build time. */
export const SCRIPT: Script = CHECK_SCRIPT
