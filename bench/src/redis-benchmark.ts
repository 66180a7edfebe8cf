import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { tokenBucket } from '@tidegate/core'
import { RedisStore } from '@tidegate/redis'
import type { Figures } from './figures.js'
import { connectToServer } from './redis-connect.js'
import type { LoadScenario } from './redis-scenarios.js'
import { COUNT, COUNT_SHA } from './redis-script.js'
import { countCommands } from './redis-stats.js'

/** What redis-benchmark writes, in a key, another number for each command. */
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
 * Redis's own load generator, written in C, with one script call for each check. What it reaches is what this
 * server can do without batching, whoever the client is. 16 connections of 16 calls each are in flight: on
 * one connection it would wait for all of them before it sends the next.
 */
export async function measureRedisBenchmark(
  contender: string,
  url: string,
  { keys, inFlight, checks }: LoadScenario,
): Promise<Figures> {
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
  // It draws keys at random, so that one or the other may never come.
  if (calls < checks || failed > 0 || made > keys || made < 0.99 * keys) {
    throw new Error(
      `${checks} calls for ${keys} keys: ${calls} were made, ${failed} failed, for ${made} keys.`,
    )
  }
  return figuresOf(report)
}

/** The command that the store would send, as it tells a client that only listens. */
async function tokenBucketCommand(url: string): Promise<string[]> {
  const policy = tokenBucket({ capacity: 1_000_000, refillRate: '1/1h', name: 'token' })
  const real = new RedisStore(url)
  // Brings the script to the server.
  await real.check({ policy, key: 'first', cost: 1 })
  await real.close()

  let heard: string[] = []
  const listener = {
    async call(command: string, args: string[]) {
      heard = [command, ...args]
      throw new Error('was only listening')
    },
    quit: async () => 'OK',
  }
  const store = new RedisStore(listener)
  await store.check({ policy, key: `user:${RANDOM}`, cost: 1 }).catch(() => {})
  await store.close()
  return heard
}

async function plainCommand(url: string): Promise<string[]> {
  const server = await connectToServer(url)
  await server.script('LOAD', COUNT)
  server.disconnect()
  return ['EVALSHA', COUNT_SHA, '1', `user:${RANDOM}`, '3600000']
}

/** Its last line is the command, calls per second, then waits in milliseconds: mean, least, p50, p95, p99, most. */
function figuresOf(report: string): Figures {
  const last = report.trim().split('\n').at(-1) ?? ''
  const [perSecond, , , p50, , p99] = [...last.matchAll(/"([\d.]+)"/g)]
    .slice(-7)
    .map((match) => Number(match[1]))
  if (!(perSecond! > 0)) throw new Error(`redis-benchmark said: ${report}`)
  return { perSecond: perSecond!, p50Us: p50! * 1000, p99Us: p99! * 1000 }
}
