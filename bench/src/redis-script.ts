import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** The script of "plain EVALSHA". */
export const COUNT = readFileSync(new URL('../lua/count.lua', import.meta.url), 'utf8')
export const COUNT_SHA = createHash('sha1').update(COUNT).digest('hex')
