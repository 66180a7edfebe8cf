import { type Mistake, quoted } from './mistakes.js'
import { storeProblem } from './store.js'
import { tokenProblem } from './token.js'
import type { Environment } from './variables.js'

/** What overrides the file. */
export interface Overrides {
  readonly host?: string
  readonly port?: number
  readonly store?: string
  readonly adminToken?: string
}

/** What was given on the command line, as it was given. */
export interface Flags {
  readonly host?: string | undefined
  readonly port?: string | undefined
  readonly store?: string | undefined
}

/** The command line counts more than the environment. A variable that is empty counts as not set. */
export function readOverrides(env: Environment, flags: Flags): { overrides: Overrides; mistakes: Mistake[] } {
  const overrides: { -readonly [Name in keyof Overrides]: Overrides[Name] } = {}
  const mistakes: Mistake[] = []
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
    else mistakes.push({ path, message: problem })
  }

  read(
    flags.host,
    { flag: '--host', variable: 'TIDEGATE_HOST' },
    (text) => (text === '' ? 'must not be empty' : undefined),
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
  read(undefined, { flag: '', variable: 'TIDEGATE_ADMIN_TOKEN' }, tokenProblem, (text) => {
    overrides.adminToken = text
  })
  return { overrides, mistakes }
}

function portProblem(text: string): string | undefined {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return undefined
  return `must be a whole number from 0 to 65,535, got ${quoted(text)}`
}
