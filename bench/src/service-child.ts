import type { Figures } from './figures.js'
import { makeKeys, makeOrder } from './keys.js'
import { LOAD_CORE, stayOnCore } from './one-core.js'
import { percentile } from './percentile.js'
import { type SteadyScenario, serviceScenarioNamed } from './service-scenarios.js'
import { loadSteadily } from './steady-load.js'

/* The client of a steady load. Arguments: scenario, the server's URL. Sends its figures to the parent. */

/**
 * Connections come and go while it warms up too. The first that ends makes the engine throw away what it has compiled
 * for those that stay; while it compiles again a busy server falls behind, once in its life.
 */
const WARM_UP_LOADS = 3
const WARM_UP_SECONDS = 1

const [scenarioName = '', url = ''] = process.argv.slice(2)
stayOnCore(LOAD_CORE)
const { keys, connections, perSecond, seconds } = serviceScenarioNamed(scenarioName) as SteadyScenario
// In random order, the same for every contender.
const paths = makeKeys(keys).map((key) => `/api/v1/rate-limit/check?key=${key}`)
const load = { url, paths: shuffled(paths), connections, perSecond }
for (let i = 0; i < WARM_UP_LOADS; i++) await loadSteadily({ ...load, count: perSecond * WARM_UP_SECONDS })
globalThis.gc?.()
const answers = await loadSteadily({ ...load, count: perSecond * seconds })
const figures: Figures = {
  perSecond: answers.waitsMs.length / answers.seconds,
  p50Us: percentile(answers.waitsMs, 0.5) * 1000,
  p99Us: percentile(answers.waitsMs, 0.99) * 1000,
  failures: answers.failures,
}
process.send?.(figures, () => process.exit(0))

function shuffled(all: readonly string[]): string[] {
  return Array.from(makeOrder(all.length, all.length), (i) => all[i]!)
}
