import { ManualClock, MemoryStore } from '@tidegate/core'
import type { GatewayConfig } from '../src/config/gateway.js'
import { loadConfig } from '../src/config/load.js'
import { describeMistakes } from '../src/config/mistakes.js'
import { compileRoutes } from '../src/gateway/compile.js'
import type { OnDecision } from '../src/gateway/limit.js'

/** The gateway of a file without mistakes. */
export function gatewayOf(text: string): GatewayConfig {
  const loaded = loadConfig({ text, env: {} })
  if ('mistakes' in loaded) throw new Error(describeMistakes(loaded.mistakes, 'file'))
  if (loaded.config.gateway === undefined) throw new Error('there is no gateway')
  return loaded.config.gateway
}

/** What is wrong with a file, a line each. */
export function mistakesIn(text: string): string[] {
  const loaded = loadConfig({ text, env: {} })
  return 'mistakes' in loaded ? describeMistakes(loaded.mistakes, 'file').split('\n') : []
}

/** Its routes, counting in memory on a clock that stands still. */
export function routerOf(text: string, onDecision: OnDecision = () => {}) {
  const clock = new ManualClock(Date.parse('2030-01-01T10:00:00Z'))
  const store = new MemoryStore({ clock })
  return { clock, store, router: compileRoutes(gatewayOf(text), store, onDecision) }
}

/** A file with one route that has these predicates and filters. */
export function fileOf(predicates: readonly string[], filters: readonly string[] = []): string {
  const list = (name: string, items: readonly string[]) =>
    `      ${name}: [${items.map((item) => (item.startsWith('{') ? item : JSON.stringify(item))).join(', ')}]`
  return [
    'gateway:',
    '  routes:',
    '    - id: one',
    '      uri: http://127.0.0.1:1',
    list('predicates', predicates),
    list('filters', filters),
    '',
  ].join('\n')
}
