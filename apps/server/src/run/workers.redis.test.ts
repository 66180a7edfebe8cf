import { Agent, get } from 'node:http'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLive } from '../../test/live-events.js'
import { childrenOf, configFile, runCommand, type ServerProcess, startProcess } from '../../test/process.js'
import { expositionAt, seriesIn, valueIn } from '../../test/scrape.js'
import { redisStore } from '../../test/start-service.js'

describe('several workers on one Redis', () => {
  let redis: RedisServer
  let file: ReturnType<typeof configFile>
  let server: ServerProcess
  const fileWith = (limit: number) =>
    `store: ${redisStore(redis)}\npolicies: { mine: { algorithm: fixed-window, limit: ${limit}, window: 1d } }\n`
  beforeAll(async () => {
    redis = await startRedis()
    file = configFile(fileWith(50))
    server = await startProcess(['-c', file.path, '--workers', '2'])
  })
  afterAll(async () => {
    const workers = server === undefined ? [] : childrenOf(server.process)
    await server?.stop()
    // Workers exit after the primary.
    await until('the workers to exit', () => workers.every((pid) => !isAlive(pid)))
    file?.remove()
    await redis?.stop()
  })

  /** On a separate connection, so that the workers take turns. */
  const check = (key: string) =>
    new Promise<{ status: number | undefined; body: { limit: number } }>((resolve, reject) => {
      const agent = new Agent({ keepAlive: false })
      get(`${server.url}/api/v1/rate-limit/check?policy=mine&key=${key}`, { agent }, (response) => {
        let text = ''
        response.on('data', (data) => {
          text += data
        })
        response.on('end', () => resolve({ status: response.statusCode, body: JSON.parse(text) }))
      }).on('error', reject)
    })

  it('log their URL and their number once', () => {
    const lines = server.log().filter(({ msg }) => String(msg).includes('listening on'))
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ workers: 2, store: 'redis' })
    expect(childrenOf(server.process)).toHaveLength(2)
  })

  it('share one limit exactly, and one port', async () => {
    const answers = await Promise.all(Array.from({ length: 120 }, () => check('shared')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(50)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(70)
  })

  it('report the metrics of all workers from any of them', async () => {
    const expositions = [
      await expositionAt(server.url),
      await expositionAt(server.url),
      await expositionAt(server.url),
    ]
    for (const exposition of expositions) {
      const count = (allowed: string) =>
        valueIn(exposition, 'rate_limiter_policy_requests_total', { policy: 'mine', allowed })
      expect([count('true'), count('false')]).toStrictEqual([50, 70])
      expect(valueIn(exposition, 'rate_limiter_store_up')).toBe(1)
      expect(new Set(seriesIn(exposition)).size).toBe(seriesIn(exposition).length)
    }
  })

  it('stream the live events of all workers from any of them', async () => {
    const stream = await openLive(server)
    try {
      const before = (await stream.next())!
      expect(before).toMatchObject({ processes: 2 })
      await Promise.all(Array.from({ length: 40 }, (_, i) => check(`live-${i}`)))
      let event = before
      await until('all to be counted', async () => {
        event = (await stream.next())!
        return event.total.allowedTotal === before.total.allowedTotal + 40
      })
      const keys = event.busiest.filter(({ key }) => key.startsWith('live-'))
      expect(keys.length).toBeGreaterThan(0)
      const pids = childrenOf(server.process).toSorted()
      await until('both to be listed', async () => {
        const { instances } = (await stream.next())!
        return JSON.stringify(instances.map(({ pid }) => pid).toSorted()) === JSON.stringify(pids)
      })
    } finally {
      await stream.close()
    }
  })

  it('reload a changed file, and log it once', async () => {
    file.write(fileWith(60))
    await until('the new limit everywhere', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => check('reload')))
      return answers.every(({ body }) => body.limit === 60)
    })
    const lines = server.log().filter(({ msg }) => String(msg).includes('Configuration reloaded'))
    expect(lines).toHaveLength(1)
    const exposition = await expositionAt(server.url)
    expect(valueIn(exposition, 'rate_limiter_config_reloads_total', { result: 'ok' })).toBe(1)
  })

  /** Kills a worker, and waits for its replacement. */
  const replaceOne = async () => {
    const [victim, other] = childrenOf(server.process)
    process.kill(victim!, 'SIGKILL')
    const isReplaced = async () => {
      const now = childrenOf(server.process)
      if (now.length !== 2 || now.includes(victim!) || !now.includes(other!)) return false
      const stream = await openLive(server)
      const event = await stream.next().finally(() => stream.close())
      return event?.processes === 2
    }
    // The backoff grows each time.
    await until('another worker', isReplaced)
  }

  it('replace a worker that exits, and keep its counts', async () => {
    const counted = async () => {
      const exposition = await expositionAt(server.url)
      return valueIn(exposition, 'rate_limiter_policy_requests_total', { policy: 'mine', allowed: 'true' })
    }
    const before = await counted()
    await replaceOne()
    expect(await counted()).toBe(before)
    const line = server.log().find(({ msg }) => String(msg).includes('Worker exited'))
    expect(line).toMatchObject({ level: 'error', signal: 'SIGKILL', worker: expect.any(Number) })
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => check(`again-${i}`)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
  })

  it('replace a worker that exits while the file is invalid with the active configuration', async () => {
    file.write(fileWith(70).replace('limit', 'limits'))
    await until('the errors to be logged', () =>
      server.log().some(({ msg }) => String(msg).includes('is invalid')),
    )
    await replaceOne()
    const answers = await Promise.all(Array.from({ length: 20 }, () => check('invalid')))
    expect(new Set(answers.map(({ body }) => body.limit))).toStrictEqual(new Set([60]))
    // All workers of the first reload have been replaced by now.
    const exposition = await expositionAt(server.url)
    const reloads = ['ok', 'failed'].map((result) =>
      valueIn(exposition, 'rate_limiter_config_reloads_total', { result }),
    )
    expect(reloads).toStrictEqual([1, 1])
  })

  it('replace a worker with the options of the start, if the file has changed since', async () => {
    file.write(fileWith(80).replace(redis.url, 'redis://127.0.0.1:1'))
    await until('the new limit', async () => (await check('restart')).body.limit === 80)
    await replaceOne()
    const answers = await Promise.all(Array.from({ length: 100 }, () => check('restarted')))
    expect(new Set(answers.map(({ body }) => body.limit))).toStrictEqual(new Set([80]))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(80)
    file.write(fileWith(60))
    await until('the limit from before', async () => (await check('back')).body.limit === 60)
  })

  it('reload the log level of the primary too', async () => {
    const exits = () => server.log().filter(({ msg }) => String(msg).includes('Worker exited')).length
    const before = exits()
    file.write(`${fileWith(90)}log: { level: fatal }\n`)
    await until('the new limit', async () => (await check('level')).body.limit === 90)
    await replaceOne()
    expect(exits()).toBe(before)
    file.write(fileWith(60))
    await until('the limit from before', async () => (await check('level')).body.limit === 60)
  })

  it('reload even if a worker exits at that moment', async () => {
    // Slow to load: the reload is sent when the worker is already dead.
    const others = Array.from(
      { length: 2000 },
      (_, i) => `  p${i}: { algorithm: fixed-window, limit: 1, window: 1d }\n`,
    )
    // The other worker logs the result.
    const victim = childrenOf(server.process).at(-1)
    const timesRead = () =>
      server.log().filter(({ msg }) => String(msg).includes('Configuration reloaded')).length
    const before = timesRead()
    file.write(`store: ${redisStore(redis)}\npolicies:\n${others.join('')}`)
    await until('the file to be read', () => timesRead() > before)
    server.process.kill('SIGHUP')
    process.kill(victim!, 'SIGKILL')
    await until('the worker to exit', () => !childrenOf(server.process).includes(victim!))
    await until('the file to be read again', () => timesRead() > before + 1)
    expect(server.process.exitCode).toBe(null)
    file.write(fileWith(60))
    await until('the limit from before', async () => (await check('dead')).body.limit === 60)
  })

  it('do not start if the port is in use, and report it once', async () => {
    const { port } = new URL(server.url)
    const { code, output } = await runCommand(['start', '--port', port, '-c', file.path, '--workers', '2'])
    expect(code).toBe(1)
    expect(output.match(/is already in use/g)).toHaveLength(1)
  })

  it('stop together, and exit with 0', async () => {
    const workers = childrenOf(server.process)
    server.process.kill('SIGTERM')
    expect(await server.ended).toStrictEqual({ code: 0, signal: null })
    expect(workers.some(isAlive)).toBe(false)
  })
})

describe('several workers in memory', () => {
  it('are rejected, because they would not share a limit', async () => {
    const { code, output } = await runCommand(['start', '--port', '0', '--workers', '2'])
    expect(code).toBe(2)
    expect(output).toMatch(/needs a shared store/)
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
