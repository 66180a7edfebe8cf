import type { Config } from '../config/config.js'
import { loadConfig } from '../config/load.js'
import { describeMistakes } from '../config/mistakes.js'
import { BUILT_IN_POLICIES } from '../config/policies.js'
import { EXIT, type Terminal } from './terminal.js'

export function validate(file: string, { json }: { json?: boolean }, terminal: Terminal): number {
  const loaded = loadConfig({ file, env: terminal.env })
  const mistakes = 'mistakes' in loaded ? loaded.mistakes : []
  if (json) terminal.out(JSON.stringify({ file, valid: mistakes.length === 0, mistakes }))
  else if ('config' in loaded)
    terminal.out(`${file} is ${terminal.paint('green', 'right')}: ${summary(loaded.config)}`)
  else terminal.err(describeMistakes(mistakes, file))
  return mistakes.length === 0 ? EXIT.ok : EXIT.mistakes
}

function summary({ policies, rules, gateway, store }: Config): string {
  const own = [...policies.values()].filter((policy) => BUILT_IN_POLICIES.get(policy.name) !== policy)
  const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`
  const where = store.kind === 'memory' ? 'memory' : store.scheme
  const routes = gateway === undefined ? '' : `, ${counted(gateway.routes.length, 'route', 'routes')}`
  return `${counted(own.length, 'policy', 'policies')}, ${counted(rules.length, 'rule', 'rules')}${routes}, store ${where}`
}
