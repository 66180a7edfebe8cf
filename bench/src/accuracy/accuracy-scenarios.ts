import { type Plan, scenarioIn } from '../report/benchmark.js'
import { ACCURACY_CONTENDERS } from './accuracy-contenders.js'

/** Checks of one key by several processes, evenly spaced, more of them than the limit allows. */
export interface AccuracyScenario extends Plan {
  processes: number
  limit: number
  /** The windows of the limit in one run. Each lasts one second. */
  windows: number
  /** Checks per second of all processes together. */
  demand: number
}

export const ACCURACY_SCENARIOS: Readonly<Record<string, AccuracyScenario>> = {
  saturated: {
    title: '4 processes, one key, 500 a second allowed, 2,000 a second requested, for 5 seconds',
    contenders: ACCURACY_CONTENDERS,
    processes: 4,
    limit: 500,
    windows: 5,
    demand: 2000,
  },
}

export function accuracyScenarioNamed(name: string): AccuracyScenario {
  return scenarioIn(ACCURACY_SCENARIOS, name)
}
