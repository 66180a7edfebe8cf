import type { Figures } from '../report/figures.js'
import { makeContender } from './core-contenders.js'
import { scenarioNamed } from './core-scenarios.js'
import { measureLog } from './measure-log.js'
import { measureMemory } from './measure-memory.js'
import { measurePauses } from './measure-pauses.js'
import { measureSpeed } from './measure-speed.js'

/* Measures one contender in one scenario. Arguments: scenario, contender. Sends the figures to the parent process. */

const [scenarioName = '', contender = ''] = process.argv.slice(2)
const figures = await measure()
// Some contenders have timers that would keep the process alive.
process.send?.(figures, () => process.exit(0))

function measure(): Promise<Figures> | Figures {
  const scenario = scenarioNamed(scenarioName)
  switch (scenario.measure) {
    case 'speed':
      return measureSpeed(makeContender(contender), scenario)
    case 'pauses':
      return measurePauses((maxKeys) => makeContender(contender, maxKeys), scenario)
    case 'memory':
      return measureMemory(makeContender(contender), scenario)
    case 'log':
      return measureLog(contender, scenario)
  }
}
