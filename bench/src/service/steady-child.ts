import { LOAD_CORE, pinToCore } from '../load/cpu-cores.js'
import { makeKeys, makeOrder } from '../load/keys.js'
import { percentile } from '../load/percentile.js'
import { loadSteadily } from '../load/steady-load.js'
import type { Figures } from '../report/figures.js'
import { type SteadyScenario, serviceScenarioNamed } from './service-scenarios.js'

/* The client of a steady load. Arguments: scenario, URL of the server. Sends the figures to the parent process. */

/**
 * The warm-up opens and closes connections: the first one that closes makes V8 discard optimized code of the server, and
 * the server falls behind once until V8 has compiled it again.
 */
const WARM_UP_LOADS = 3
const WARM_UP_SECONDS = 1

const [scenarioName = '', url = ''] = process.argv.slice(2)
pinToCore(LOAD_CORE)
const { keys, connections, perSecond, seconds } = serviceScenarioNamed(scenarioName) as SteadyScenario
// In random order, the same for every contender.
const paths = makeKeys(keys).map((key) => `/api/v1/rate-limit/check?key=${key}`)
const load = { url, paths: shuffled(paths), connections, perSecond }
for (let i = 0; i < WARM_UP_LOADS; i++) await loadSteadily({ ...load, count: perSecond * WARM_UP_SECONDS })
globalThis.gc?.()
const result = await loadSteadily({ ...load, count: perSecond * seconds })
const figures: Figures = {
  perSecond: result.responses / result.seconds,
  p50Us: percentile(result.waitsMs, 0.5) * 1000,
  p99Us: percentile(result.waitsMs, 0.99) * 1000,
  failures: result.failures,
}
process.send?.(figures, () => process.exit(0))

function shuffled(all: readonly string[]): string[] {
  return Array.from(makeOrder(all.length, all.length), (i) => all[i]!)
}
