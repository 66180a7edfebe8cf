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

const scripts = new Map<string, Script>()

/**
 * The script for a call. Redis runs all of it, definitions included, every time: where a call has only one
 * algorithm, as nearly all have, the other four would cost it as much as the check itself; and so would refunds where
 * there is none.
 */
export function scriptFor(policies: readonly Policy[], hasRefunds: boolean): Script {
  const first = policies[0]!.algorithm
  const one = policies.every(({ algorithm }) => algorithm === first) ? first : undefined
  const name = `${one ?? 'all'}${hasRefunds ? ' and refunds' : ''}`
  let script = scripts.get(name)
  if (script === undefined) {
    script = compose(one === undefined ? Object.values(FILES).flat() : FILES[one], hasRefunds)
    scripts.set(name, script)
  }
  return script
}

function compose(files: readonly string[], hasRefunds: boolean): Script {
  const names = new Set(['exact', 'state', ...files, 'main'])
  const parts = [...names].map((name) => readFileSync(new URL(`../lua/${name}.lua`, import.meta.url), 'utf8'))
  const text = [`local REFUNDS = ${hasRefunds}`, ...parts].join('\n')
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
