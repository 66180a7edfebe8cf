import { createHash } from 'node:crypto'
import type { Policy } from '@tidegate/core'
import { LUA } from './lua.generated.js'

/** The whole of what a call runs; `lua/main.lua` has the inputs and outputs. */
export interface Script {
  readonly text: string
  readonly sha: string
}

type AlgorithmName = Policy['algorithm']

/** The files of what each algorithm calls. */
const FUNCTIONS: Record<AlgorithmName, readonly (keyof typeof LUA)[]> = {
  'fixed-window': ['state'],
  'sliding-window-log': ['log'],
  'sliding-window-counter': ['state', 'exact'],
  'token-bucket': ['state'],
  'leaky-bucket': ['state'],
}

export const LETTERS: Record<AlgorithmName, string> = {
  'fixed-window': 'f',
  'sliding-window-log': 'l',
  'sliding-window-counter': 'c',
  'token-bucket': 't',
  'leaky-bucket': 'k',
}

const ALL = Object.keys(FUNCTIONS) as AlgorithmName[]

/**
 * Redis creates every function of a script on each call. A call of one algorithm, the usual case, therefore runs a script
 * with that algorithm alone. All scripts are composed when the module is loaded.
 */
const SCRIPTS = new Map<AlgorithmName | undefined, Script>(
  [undefined, ...ALL].map((algorithm) => {
    const text = compose(algorithm === undefined ? ALL : [algorithm])
    return [algorithm, { text, sha: createHash('sha1').update(text).digest('hex') }]
  }),
)

/** The script for a call of one algorithm, or of several if `algorithm` is undefined. */
export function scriptFor(algorithm: AlgorithmName | undefined): Script {
  return SCRIPTS.get(algorithm)!
}

function compose(algorithms: readonly AlgorithmName[]): string {
  const functions = new Set(algorithms.flatMap((name) => FUNCTIONS[name]))
  const branches = algorithms.map((name) => `if ARGV[policy + 4] == '${LETTERS[name]}' then\n${LUA[name]}`)
  const parts: Record<string, string> = {
    '-- FUNCTIONS': [...functions].map((name) => LUA[name]).join('\n'),
    '-- ALGORITHM': algorithms.length === 1 ? LUA[algorithms[0]!] : `${branches.join('\nelse')}\nend`,
    '-- CONVERT': `${LUA.exact}\n${LUA.bucket}`,
    ARGUMENTS: algorithms.length === 1 ? '3' : '4',
  }
  return Object.entries(parts).reduce((text, [mark, part]) => text.replaceAll(mark, () => part), LUA.main)
}
