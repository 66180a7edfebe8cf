import { ManualClock, MemoryStore } from '@tidegate/core'
import { loadConfig } from '../src/config/load.js'
import { formatConfigErrors } from '../src/config-file/config-error.js'
import type { GatewayConfig } from '../src/gateway/config/gateway-config.js'
import { compileRoutes } from '../src/gateway/routing/compile-routes.js'
import type { OnDecision } from '../src/gateway/routing/route-limiter.js'

/** The gateway of a valid file. */
export function gatewayOf(text: string): GatewayConfig {
  const loaded = loadConfig({ text, env: {} })
  if ('errors' in loaded) throw new Error(formatConfigErrors(loaded.errors, 'file'))
  if (loaded.config.gateway === undefined) throw new Error('the file has no gateway')
  return loaded.config.gateway
}

/** The errors of a file, one per line. */
export function configErrorsIn(text: string): string[] {
  const loaded = loadConfig({ text, env: {} })
  return 'errors' in loaded ? formatConfigErrors(loaded.errors, 'file').split('\n') : []
}

/** Its routes, which count in memory with a clock that stands still. */
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
