import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** The Lua files in the order in which they use each other; `main.lua` has the inputs and outputs. */
const FILES = [
  'exact',
  'state',
  'bucket',
  'fixed-window',
  'sliding-window-log',
  'sliding-window-counter',
  'token-bucket',
  'leaky-bucket',
  'main',
]

export const SCRIPT = FILES.map((name) =>
  readFileSync(new URL(`../lua/${name}.lua`, import.meta.url), 'utf8'),
).join('\n')

export const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex')
