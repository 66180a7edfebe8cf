import type { Figures } from './figures.js'
import { measureAlone } from './redis-alone.js'
import { isRedisBenchmark, measureRedisBenchmark } from './redis-benchmark.js'
import { measureFlood } from './redis-flood.js'
import { measureLoad } from './redis-load.js'
import { measureLog } from './redis-log.js'
import { measureRedisMemory } from './redis-memory.js'
import { redisScenarioNamed } from './redis-scenarios.js'

/*
 * One contender in one scenario, against servers that are there only for it. Arguments: scenario, contender,
 * the servers' URL. Sends its figures to the parent.
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
    case 'log':
      return measureLog(url, scenario.logs[contender]!)
    case 'memory':
      return measureRedisMemory(contender, url)
  }
}
