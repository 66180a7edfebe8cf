import type { Benchmark } from './benchmark.js'
import { columns } from './core-report.js'
import { SCENARIOS, scenarioNamed } from './core-scenarios.js'
import { judge } from './core-targets.js'
import { inOwnProcess } from './own-process.js'
import { versionsOf } from './versions.js'

const CHILD = new URL('./core-child.js', import.meta.url)
/**
 * Where pauses are measured. Node starts four helper threads on every machine, for its compiler and its garbage
 * collector. Where there are fewer processors than that, they take turns with the thread that is measured, for
 * milliseconds at a time. With 0 there are as many as the machine has room for.
 */
const FEW_HELPERS = ['--v8-pool-size=0']

/** The store in memory, against its peers and a bare Map. */
export const core: Benchmark = {
  name: 'core',
  scenarios: SCENARIOS,
  measure: (scenario, contender) =>
    inOwnProcess(
      CHILD,
      [scenario, contender],
      scenarioNamed(scenario).measure === 'pauses' ? FEW_HELPERS : [],
    ),
  columns: (scenario, all) => columns(scenarioNamed(scenario), all),
  judge,
  versions: () => versionsOf('rate-limiter-flexible', 'express-rate-limit'),
}
