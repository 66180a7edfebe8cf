import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Policy } from '@tidegate/core'

/** The whole of what a call runs; `lua/main.lua` has the inputs and outputs. */
export interface Script {
  readonly text: string
  readonly sha: string
}

type AlgorithmName = Policy['algorithm']

/** The files of what each algorithm calls. */
const FUNCTIONS: Record<AlgorithmName, readonly string[]> = {
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

const scripts = new Map<AlgorithmName | undefined, Script>()

/**
 * The script for a call of one algorithm, as nearly all are, or of any. One for all would do, but Redis makes every
 * function of a script anew at each call.
 */
export function scriptFor(algorithm: AlgorithmName | undefined): Script {
  let script = scripts.get(algorithm)
  if (script === undefined) {
    const text = compose(algorithm === undefined ? ALL : [algorithm])
    script = { text, sha: createHash('sha1').update(text).digest('hex') }
    scripts.set(algorithm, script)
  }
  return script
}

function compose(algorithms: readonly AlgorithmName[]): string {
  const functions = new Set(algorithms.flatMap((name) => FUNCTIONS[name]))
  const branches = algorithms.map((name) => `if ARGV[policy + 4] == '${LETTERS[name]}' then\n${read(name)}`)
  const parts: Record<string, string> = {
    '-- FUNCTIONS': [...functions].map(read).join('\n'),
    '-- ALGORITHM': algorithms.length === 1 ? read(algorithms[0]!) : `${branches.join('\nelse')}\nend`,
    '-- CONVERT': `${read('exact')}\n${read('bucket')}`,
    ARGUMENTS: algorithms.length === 1 ? '3' : '4',
  }
  return Object.entries(parts).reduce((text, [mark, part]) => text.replaceAll(mark, () => part), read('main'))
}

function read(name: string): string {
  return readFileSync(new URL(`../lua/${name}.lua`, import.meta.url), 'utf8')
}
