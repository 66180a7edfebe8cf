import type { Figures } from '../report/figures.js'
import { measureAlone } from './measure-alone.js'
import { measureBytes } from './measure-bytes.js'
import { measureFlood } from './measure-flood.js'
import { measureFullLog } from './measure-full-log.js'
import { measureHotKey } from './measure-hot-key.js'
import { measureLoad } from './measure-load.js'
import { isRedisBenchmark, measureRedisBenchmark } from './redis-benchmark.js'
import { redisScenarioNamed } from './redis-scenarios.js'

/*
 * Measures one contender in one scenario. Arguments: scenario, contender, URL of its own Redis servers. Sends the
 * figures to the parent process.
 */

const [scenarioName = '', contender = '', url = ''] = process.argv.slice(2)
const figures = await measure()
process.send?.(figures, () => process.exit(0))

function measure(): Promise<Figures> {
  const scenario = redisScenarioNamed(scenarioName)
  switch (scenario.measure) {
    case 'load':
      if (isRedisBenchmark(contender)) return measureRedisBenchmark(contender, url, scenario)
      return measureLoad(contender, url, scenario)
    case 'alone':
      return measureAlone(contender, url, scenario)
    case 'flood':
      return measureFlood(contender, url, scenario)
    case 'hot-key':
      return measureHotKey(contender, url, scenario)
    case 'log':
      return measureFullLog(url, scenario.logs[contender]!)
    case 'memory':
      return measureBytes(contender, url)
  }
}
