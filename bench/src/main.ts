import { accuracy } from './accuracy/index.js'
import { core } from './core/index.js'
import { gateway } from './gateway/index.js'
import { http } from './http/index.js'
import { PROMISES } from './promises.js'
import { redis } from './redis/index.js'
import { writeDocs } from './report/docs.js'
import { exitCodeOf, tableOf, verdictOf } from './report/promise.js'
import { lastOutcomes } from './report/results.js'
import { asText } from './report/table.js'
import { rls } from './rls/index.js'
import { run } from './run.js'
import { service } from './service/index.js'

const BENCHMARKS = [core, redis, accuracy, http, service, gateway, rls]

const args = process.argv.slice(2)
const quick = args.includes('--quick')
const [name = '', ...rest] = args.filter((arg) => arg !== '--quick')
const benchmark = BENCHMARKS.find((one) => one.name === name)

if (benchmark !== undefined && rest.length === 0) {
  process.exitCode = await run(benchmark, quick)
} else if (name === 'docs' && rest.length === 0 && !quick) {
  writeDocs(BENCHMARKS, PROMISES)
} else if (name === 'promises' && rest.length === 0 && !quick) {
  process.exitCode = printPromises()
} else {
  const names = BENCHMARKS.map((one) => one.name)
  if (name !== '') console.error(`Unknown benchmark "${args.join(' ')}".`)
  console.error(`Usage: npm run bench <name> [-- --quick], where <name> is one of: ${names.join(', ')}`)
  console.error('       npm run bench promises    prints all promises and their outcome in the last runs')
  console.error('       npm run bench docs        writes the last runs into docs/benchmarks.md')
  process.exitCode = 2
}

function printPromises(): 0 | 1 {
  const rows = lastOutcomes(BENCHMARKS, PROMISES)
  console.log(asText(tableOf(rows)))
  console.log(`\n${verdictOf(rows)}`)
  return exitCodeOf(rows)
}
