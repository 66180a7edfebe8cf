import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Policy } from '@tidegate/core'

/** The whole of what a call runs; `lua/main.lua` has the inputs and outputs. */
export interface Script {
  readonly text: string
  readonly sha: string
}

type AlgorithmName = Policy['algorithm']

/** What each algorithm is made of, in the order in which the files use each other. */
const FILES: Record<AlgorithmName, readonly string[]> = {
  'fixed-window': ['fixed-window'],
  'sliding-window-log': ['sliding-window-log'],
  'sliding-window-counter': ['sliding-window-counter'],
  'token-bucket': ['bucket', 'token-bucket'],
  'leaky-bucket': ['bucket', 'leaky-bucket'],
}

const scripts = new Map<AlgorithmName | 'all', Script>()

/**
 * The script for a call. Redis runs all of it, definitions included, every time: where a call has only one
 * algorithm, as nearly all have, the other four would cost it as much as the check itself.
 */
export function scriptFor(policies: readonly Policy[]): Script {
  const first = policies[0]!.algorithm
  const name = policies.every(({ algorithm }) => algorithm === first) ? first : 'all'
  let script = scripts.get(name)
  if (script === undefined) {
    script = compose(name === 'all' ? Object.values(FILES).flat() : FILES[name])
    scripts.set(name, script)
  }
  return script
}

function compose(files: readonly string[]): Script {
  const names = new Set(['exact', 'state', ...files, 'main'])
  const parts = [...names].map((name) => readFileSync(new URL(`../lua/${name}.lua`, import.meta.url), 'utf8'))
  const text = parts.join('\n')
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
