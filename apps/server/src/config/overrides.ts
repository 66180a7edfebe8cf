import { type ConfigError, quote } from '../config-file/config-error.js'
import { parseListenAddress } from '../config-file/listen-address.js'
import type { Environment } from '../config-file/variables.js'
import type { RlsFlags } from '../rls/config/read-rls.js'
import { tokenProblem } from './schema/token-format.js'
import { storeProblem } from './sections/store.js'

/** Options that override the file. */
export interface Overrides {
  readonly host?: string
  readonly port?: number
  readonly store?: string
  readonly adminToken?: string
  readonly rls?: RlsFlags
}

/** Options of the command line, as text. */
export interface Flags {
  readonly host?: string | undefined
  readonly port?: string | undefined
  readonly store?: string | undefined
  readonly rls?: RlsFlags | undefined
}

/** Reads the overrides. The command line overrides the environment, and an empty variable counts as not set. */
export function readOverrides(
  env: Environment,
  flags: Flags,
): { overrides: Overrides; errors: ConfigError[] } {
  const overrides: { -readonly [Name in keyof Overrides]: Overrides[Name] } = {}
  const errors: ConfigError[] = []
  const read = (
    flag: string | undefined,
    names: { flag: string; variable: string },
    problemOf: (text: string) => string | undefined,
    use: (text: string) => void,
  ) => {
    const text = flag ?? (env[names.variable] || undefined)
    if (text === undefined) return
    const problem = problemOf(text)
    const path = flag === undefined ? names.variable : names.flag
    if (problem === undefined) use(text)
    else errors.push({ path, message: problem })
  }

  read(
    flags.host,
    { flag: '--host', variable: 'TIDEGATE_HOST' },
    (text) => (text === '' ? 'must not be empty; write for example 127.0.0.1' : undefined),
    (text) => {
      overrides.host = text
    },
  )
  read(flags.port, { flag: '--port', variable: 'TIDEGATE_PORT' }, portProblem, (text) => {
    overrides.port = Number(text)
  })
  read(flags.store, { flag: '--store', variable: 'TIDEGATE_STORE' }, storeProblem, (text) => {
    overrides.store = text
  })
  if (flags.rls !== undefined) {
    const { listen } = flags.rls
    if (listen === undefined || parseListenAddress(listen) !== undefined) overrides.rls = flags.rls
    else errors.push({ path: '--rls', message: listenProblem(listen) })
  }
  read(undefined, { flag: '', variable: 'TIDEGATE_ADMIN_TOKEN' }, tokenProblem, (text) => {
    overrides.adminToken = text
  })
  return { overrides, errors }
}

function listenProblem(text: string): string {
  return `must be a port or an address with a port, such as 8081 or 0.0.0.0:8081, got ${quote(text)}`
}

function portProblem(text: string): string | undefined {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return undefined
  return `must be a whole number from 0 to 65,535, got ${quote(text)}; write for example 8080`
}
