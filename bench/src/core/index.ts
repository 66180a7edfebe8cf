import { inOwnProcess } from '../load/own-process.js'
import type { Benchmark } from '../report/benchmark.js'
import { versionsOf } from '../report/versions.js'
import { columns } from './core-columns.js'
import { SCENARIOS, scenarioNamed } from './core-scenarios.js'

const CHILD = new URL('./core-child.js', import.meta.url)
/**
 * For pauses. Node starts four V8 helper threads (compiler, garbage collector) on every machine; with fewer cores they
 * preempt the measured thread for milliseconds. With 0, V8 starts as many as there are spare cores.
 */
const FEW_HELPERS = ['--v8-pool-size=0']

/** The memory store, against other libraries and a Map. */
export const core: Benchmark = {
  name: 'core',
  scenarios: SCENARIOS,
  measure(scenario, contender) {
    const flags = scenarioNamed(scenario).measure === 'pauses' ? FEW_HELPERS : []
    return inOwnProcess(CHILD, [scenario, contender], flags)
  },
  columns: (scenario, all) => columns(scenarioNamed(scenario), all),
  versions: () => versionsOf('rate-limiter-flexible', 'express-rate-limit'),
}
