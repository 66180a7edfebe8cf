import { makeContender } from './core-contenders.js'
import { scenarioNamed } from './core-scenarios.js'
import type { Figures } from './figures.js'
import { measureLog } from './measure-log.js'
import { measureMemory } from './measure-memory.js'
import { measurePauses } from './measure-pauses.js'
import { measureSpeed } from './measure-speed.js'

/*
 * One contender in one scenario, in a process of its own: what the engine has learned about one contender
 * must neither help nor hurt another. Arguments: scenario, contender. Sends its figures to the parent.
 */

const [scenarioName = '', contender = ''] = process.argv.slice(2)
const figures = await measure()
// Some contenders keep timers, which would keep the process.
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
