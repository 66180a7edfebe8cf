import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { benchFile } from '../report/paths.js'

/** The script of the contender "plain EVALSHA". */
export const COUNT = readFileSync(benchFile('lua/count.lua'), 'utf8')
export const COUNT_SHA = createHash('sha1').update(COUNT).digest('hex')
