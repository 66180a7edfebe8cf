import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { tokenBucket } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'
import type { Figures } from '../report/figures.js'
import { countCommands } from './command-stats.js'
import { connectToServer } from './connect.js'
import { COUNT, COUNT_SHA } from './counter-script.js'
import type { LoadScenario } from './redis-scenarios.js'

/** redis-benchmark replaces this placeholder with a random number in each command. */
const RANDOM = '__rand_int__'
const PIPELINED = 16

const COMMANDS: Readonly<Record<string, (url: string) => Promise<string[]>>> = {
  'redis-benchmark, token bucket': tokenBucketCommand,
  'redis-benchmark, plain EVALSHA': plainCommand,
}

export function isRedisBenchmark(contender: string): boolean {
  return Object.hasOwn(COMMANDS, contender)
}

/**
 * The load generator of Redis, written in C, with one script call per check: the throughput of this server without
 * batching, with any client. 16 connections with 16 calls each are in flight, because on one connection
 * redis-benchmark waits for all responses before it sends the next calls.
 */
export async function measureRedisBenchmark(
  contender: string,
  url: string,
  { keys, inFlight, checks: checksPerTurn, turns }: LoadScenario,
): Promise<Figures> {
  const checks = checksPerTurn * turns
  const server = await connectToServer(url)
  const command = await COMMANDS[contender]!(url)
  const before = await server.dbsize()
  const args = ['-p', String(server.options.port), '-r', String(keys), '-n', String(checks), '--csv']
  args.push('-P', String(PIPELINED), '-c', String(inFlight / PIPELINED), ...command)
  let report = ''
  const counted = await countCommands(server, async () => {
    report = (await promisify(execFile)('redis-benchmark', args)).stdout
  })
  const { calls, failed } = counted('evalsha')
  const made = (await server.dbsize()) - before
  server.disconnect()
  // Keys are random, so a few may never occur.
  if (calls < checks || failed > 0 || made > keys || made < 0.99 * keys) {
    throw new Error(
      `${checks} calls for ${keys} keys: ${calls} were made, ${failed} failed, for ${made} keys.`,
    )
  }
  return { ...figuresOf(report), serverUs: counted('evalsha').us / calls }
}

/** The command that the store sends for one check, recorded by a client that sends nothing. */
async function tokenBucketCommand(url: string): Promise<string[]> {
  const policy = tokenBucket({ capacity: 1_000_000, refillRate: '1/1h', name: 'token' })
  const real = new RedisStore(url)
  // Loads the script into the server.
  await real.check({ policy, key: 'first', cost: 1 })
  await real.close()

  let recorded: string[] = []
  const recorder = {
    async call(command: string, args: string[]) {
      recorded = [command, ...args]
      throw new Error('recorded, not sent')
    },
    quit: async () => 'OK',
  }
  const store = new RedisStore(recorder)
  await store.check({ policy, key: `user:${RANDOM}`, cost: 1 }).catch(() => {})
  await store.close()
  return recorded
}

async function plainCommand(url: string): Promise<string[]> {
  const server = await connectToServer(url)
  await server.script('LOAD', COUNT)
  server.disconnect()
  return ['EVALSHA', COUNT_SHA, '1', `user:${RANDOM}`, '3600000']
}

/** The last line has the command, calls per second, then latencies in ms: mean, min, p50, p95, p99, max. */
function figuresOf(report: string): Figures {
  const last = report.trim().split('\n').at(-1) ?? ''
  const [perSecond, , , p50, , p99] = [...last.matchAll(/"([\d.]+)"/g)]
    .slice(-7)
    .map((match) => Number(match[1]))
  if (!(perSecond! > 0)) throw new Error(`redis-benchmark printed no figures: ${report}`)
  return { perSecond: perSecond!, p50Us: p50! * 1000, p99Us: p99! * 1000 }
}
