import { core } from './core.js'
import { redis } from './redis.js'

/** Each answers whether what was promised holds. */
const BENCHMARKS: Record<string, (options: { quick: boolean }) => Promise<boolean>> = { core, redis }

const args = process.argv.slice(2)
const [name = '', ...others] = args.filter((arg) => arg !== '--quick')

if (Object.hasOwn(BENCHMARKS, name) && others.length === 0) {
  const holds = await BENCHMARKS[name]!({ quick: args.includes('--quick') })
  process.exitCode = holds ? 0 : 1
} else {
  if (name !== '') console.error(`There is no benchmark "${[name, ...others].join(' ')}".`)
  console.error(
    `Usage: npm run bench <name> [-- --quick], where <name> is one of: ${Object.keys(BENCHMARKS).join(', ')}`,
  )
  process.exitCode = 2
}
