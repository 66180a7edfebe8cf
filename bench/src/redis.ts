import { fork } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { circumstances } from './circumstances.js'
import { median } from './figures.js'
import { OURS, PEERS, UNBATCHED } from './redis-contenders.js'
import { memoryPerBucketKey, memoryPerLoggedUnit } from './redis-memory.js'
import { startRedis } from './redis-server.js'
import { printTable } from './table.js'

interface Figures {
  perSecond: number
  cpuUs: number
  p50Us: number
  p99Us: number
}

interface Promised {
  promise: string
  value: number
  bound: 'at least' | 'at most'
  target: number
}

/** The Redis store against its peers, one server, one connection each. Answers whether every promise holds. */
export async function redis({ quick }: { quick: boolean }): Promise<boolean> {
  const contenders = [...OURS, UNBATCHED, ...PEERS]
  const rounds = quick ? 1 : 3
  const together = new Map<string, Figures[]>(contenders.map((name) => [name, []]))
  const alone = new Map<string, Figures[]>(contenders.map((name) => [name, []]))
  for (let round = 1; round <= rounds; round++) {
    for (const name of contenders) {
      // A server for each: nobody pays for what the one before has left.
      together.get(name)!.push(await measure(name, 256))
      alone.get(name)!.push(await measure(name, 1))
      console.error(`round ${round} of ${rounds}: ${name}`)
    }
  }
  const of = (from: Map<string, Figures[]>, name: string, figure: keyof Figures) =>
    median(from.get(name)!.map((figures) => figures[figure]))

  console.log('\n256 in flight, 10,000 keys, one connection\n')
  const flexible = of(together, 'rate-limiter-flexible', 'perSecond')
  printTable(
    ['', 'checks/s', 'to rate-limiter-flexible', 'client CPU µs', 'p50 µs', 'p99 µs', 'alone: p50 µs'],
    contenders.map((name) => [
      name,
      Math.round(of(together, name, 'perSecond')).toLocaleString('en'),
      `${(of(together, name, 'perSecond') / flexible).toFixed(2)} x`,
      of(together, name, 'cpuUs').toFixed(2),
      of(together, name, 'p50Us').toFixed(0),
      of(together, name, 'p99Us').toFixed(0),
      of(alone, name, 'p50Us').toFixed(0),
    ]),
  )

  const faster = Math.max(...PEERS.map((name) => of(together, name, 'perSecond')))
  const promised: Promised[] = [
    {
      promise: 'throughput of the token bucket, to the faster of the two',
      value: of(together, 'token bucket', 'perSecond') / faster,
      bound: 'at least',
      target: 1.5,
    },
    {
      promise: 'client CPU per check, to rate-limiter-flexible',
      value: of(together, 'token bucket', 'cpuUs') / of(together, 'rate-limiter-flexible', 'cpuUs'),
      bound: 'at most',
      target: 0.45,
    },
    {
      promise: 'bytes per logged unit, limit 1,000, full',
      ...(await withServer(memoryPerLoggedUnit)),
      bound: 'at most',
      target: 16,
    },
    {
      promise: "bytes per bucket key beyond the key's text",
      ...(await withServer(memoryPerBucketKey)),
      bound: 'at most',
      target: 176,
    },
  ]
  const results = promised.map((one) => ({
    ...one,
    holds: one.bound === 'at least' ? one.value >= one.target : one.value <= one.target,
  }))
  console.log('\nPromises\n')
  printTable(
    ['', 'measured', 'promised', 'holds'],
    results.map(({ promise, value, bound, target, holds }) => [
      promise,
      value.toFixed(2),
      `${bound} ${target}`,
      holds ? 'yes' : 'NO',
    ]),
  )

  const file = new URL('../results/redis.json', import.meta.url)
  mkdirSync(new URL('.', file), { recursive: true })
  const measurements = contenders.map((name) => ({
    name,
    together: together.get(name),
    alone: alone.get(name),
  }))
  writeFileSync(
    file,
    `${JSON.stringify({ ...circumstances('redis'), quick, results, measurements }, null, 2)}\n`,
  )
  console.log(`\nWritten to ${fileURLToPath(file)}`)
  return results.every((result) => result.holds)
}

async function measure(contender: string, inFlight: number): Promise<Figures> {
  const server = await startRedis()
  try {
    return await inOwnProcess([contender, String(server.port), String(inFlight)])
  } finally {
    await server.stop()
  }
}

async function withServer(look: (port: number) => Promise<number>): Promise<{ value: number }> {
  const server = await startRedis()
  try {
    return { value: await look(server.port) }
  } finally {
    await server.stop()
  }
}

function inOwnProcess(args: string[]): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL('./redis-child.js', import.meta.url), args)
    let figures: Figures | undefined
    child.on('message', (message) => {
      figures = message as Figures
    })
    child.on('error', reject)
    child.on('exit', (code) => {
      if (figures !== undefined && code === 0) resolve(figures)
      else reject(new Error(`"${args[0]}" ended with code ${code}; its reason is above.`))
    })
  })
}
