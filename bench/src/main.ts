import { core } from './core.js'
import { writeDocs } from './docs.js'
import { gateway } from './gateway.js'
import { http } from './http.js'
import { redis } from './redis.js'
import { run } from './run.js'
import { service } from './service.js'

const BENCHMARKS = [core, redis, http, service, gateway]

const args = process.argv.slice(2)
const [name = '', ...others] = args.filter((arg) => arg !== '--quick')
const quick = args.includes('--quick')
const benchmark = BENCHMARKS.find((one) => one.name === name)

if (benchmark !== undefined && others.length === 0) {
  process.exitCode = (await run(benchmark, quick)) ? 0 : 1
} else if (name === 'docs' && others.length === 0 && !quick) {
  writeDocs(BENCHMARKS)
} else {
  const names = BENCHMARKS.map((one) => one.name)
  if (name !== '') console.error(`There is no benchmark "${args.join(' ')}".`)
  console.error(`Usage: npm run bench <name> [-- --quick], where <name> is one of: ${names.join(', ')}`)
  console.error(
    '       npm run bench docs, which writes the figures of the last runs into docs/benchmarks.md',
  )
  process.exitCode = 2
}
