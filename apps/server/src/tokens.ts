import { hash } from 'node:crypto'
import type { Caller } from './config/callers.js'
import type { Config } from './config/config.js'

/** Who may do what, by the hashes of their tokens: these have one length, and say nothing when compared. */
export interface Tokens {
  readonly admin: Buffer | undefined
  readonly callers: readonly { readonly caller: Caller; readonly token: Buffer }[]
}

export function tokensOf({ adminToken, callers }: Config): Tokens {
  return {
    admin: adminToken === undefined ? undefined : digest(adminToken),
    callers: callers.map((caller) => ({ caller, token: digest(caller.token) })),
  }
}

export function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
