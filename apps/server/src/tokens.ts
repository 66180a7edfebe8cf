import { hash, randomBytes } from 'node:crypto'
import type { Config } from './config/config.js'
import type { Caller } from './config/sections/callers.js'

/** SHA-256 digests of the tokens: equal in length, so that comparing them takes constant time. */
export interface Tokens {
  readonly admin: Buffer
  readonly callers: readonly { readonly caller: Caller; readonly token: Buffer }[]
}

/** `generatedAdminToken` is the admin token of a configuration that has none. */
export function tokensOf({ adminToken, callers }: Config, generatedAdminToken: string): Tokens {
  return {
    admin: digest(adminToken ?? generatedAdminToken),
    callers: callers.map((caller) => ({ caller, token: digest(caller.token) })),
  }
}

export function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

export function generateToken(): string {
  return randomBytes(24).toString('base64url')
}
