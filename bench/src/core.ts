import type { Benchmark } from './benchmark.js'
import { columns } from './core-report.js'
import { SCENARIOS, scenarioNamed } from './core-scenarios.js'
import { judge } from './core-targets.js'
import { inOwnProcess } from './own-process.js'
import { versionsOf } from './versions.js'

const CHILD = new URL('./core-child.js', import.meta.url)

/** The store in memory, against its peers and a bare Map. */
export const core: Benchmark = {
  name: 'core',
  scenarios: SCENARIOS,
  measure: (scenario, contender) => inOwnProcess(CHILD, [scenario, contender]),
  columns: (scenario, all) => columns(scenarioNamed(scenario), all),
  judge,
  versions: () => versionsOf('rate-limiter-flexible', 'express-rate-limit'),
}
