import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { configFile, type ServerProcess, startProcess } from '../../test/process.js'
import { CHECK } from '../../test/start-service.js'

describe('a service that is stopped', () => {
  let server: ServerProcess
  afterEach(() => server?.stop())

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s under load responds to every request, and exits with 0',
    async (signal) => {
      server = await startProcess([])
      const load = createLoad(server.url)
      await load.untilAnswered(500)
      server.process.kill(signal)
      expect(await server.ended).toStrictEqual({ code: 0, signal: null })
      const { answered, failures } = await load.stop()
      expect(answered).toBeGreaterThan(500)
      // The port is closed, so that clients go elsewhere.
      expect([...failures.keys()]).toStrictEqual(['ECONNREFUSED'])
      expect(server.log().at(-1)).toMatchObject({
        msg: `${signal} received; finishing the requests in flight`,
      })
    },
  )

  it('finishes a request that is still arriving', async () => {
    server = await startProcess([])
    const slow = await slowRequest(server.url)
    server.process.kill('SIGTERM')
    await portClosed(server.url)
    slow.finish()
    expect(await slow.answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(await slow.answer).toMatch(/\r\nconnection: close\r\n/i)
    expect((await server.ended).code).toBe(0)
  })

  it('waits only briefly for idle connections', async () => {
    server = await startProcess([])
    const { hostname, port } = new URL(server.url)
    const idle = connect(Number(port), hostname)
    await new Promise((resolve) => idle.once('connect', resolve))
    const start = performance.now()
    server.process.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
    expect(performance.now() - start).toBeLessThan(3000)
    idle.destroy()
  })

  it('waits for a request that never ends until its stop timeout', async () => {
    const file = configFile('limits: { stopTimeout: 500ms }')
    try {
      server = await startProcess(['-c', file.path])
      const slow = await slowRequest(server.url)
      server.process.kill('SIGTERM')
      expect((await server.ended).code).toBe(0)
      expect(await slow.answer).toBe('')
    } finally {
      file.remove()
    }
  })

  it('exits at once on a second signal', async () => {
    server = await startProcess([])
    const slow = await slowRequest(server.url)
    server.process.kill('SIGTERM')
    await portClosed(server.url)
    server.process.kill('SIGTERM')
    expect((await server.ended).code).toBe(1)
    expect(await slow.answer).toBe('')
  })
})

/** A request whose body has not arrived yet, on a separate connection. */
async function slowRequest(url: string): Promise<{ finish(): void; answer: Promise<string> }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const head = `POST ${CHECK} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 14\r\nexpect: 100-continue\r\n\r\n`
  let text = ''
  const answer = new Promise<string>((resolve) => {
    socket.on('error', () => {}).on('close', () => resolve(text))
  })
  // The service sends 100 Continue once it waits for the body.
  await new Promise<void>((resolve) => {
    socket.once('data', () => {
      socket.on('data', (data) => {
        text += data
      })
      resolve()
    })
    socket.write(head)
  })
  return { finish: () => void socket.write('{"key":"slow"}'), answer }
}

/** Waits until the port is closed. */
async function portClosed(url: string): Promise<void> {
  const { hostname, port } = new URL(url)
  for (;;) {
    const isRefused = await new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.destroy()
        resolve(false)
      }).on('error', () => resolve(true))
    })
    if (isRefused) return
  }
}

/** Sixteen clients that keep their connections and send requests without pause. */
function createLoad(url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const failures = new Map<string, number>()
  let answered = 0
  let isRunning = true
  const sendOnce = () =>
    new Promise<void>((resolve) => {
      const request = get(`${url}${CHECK}?key=load`, { agent }, (response) => {
        response.resume().on('end', () => {
          answered++
          resolve()
        })
      })
      request.on('error', (error: NodeJS.ErrnoException) => {
        const code = error.code ?? error.message
        failures.set(code, (failures.get(code) ?? 0) + 1)
        resolve()
      })
    })
  const clients = Array.from({ length: 16 }, async () => {
    while (isRunning && !failures.has('ECONNREFUSED')) await sendOnce()
  })
  return {
    async untilAnswered(count: number) {
      while (answered < count) await new Promise((resolve) => setTimeout(resolve, 5))
    },
    async stop() {
      isRunning = false
      await Promise.all(clients)
      agent.destroy()
      return { answered, failures }
    },
  }
}
