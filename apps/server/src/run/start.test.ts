import { until } from '@tidegate/fixtures/until'
import { afterEach, describe, expect, it } from 'vitest'
import { configFile, runCommand, type ServerProcess, startProcess } from '../../test/process.js'
import { ask, CHECK } from '../../test/start-service.js'

describe('tidegate start', () => {
  let server: ServerProcess | undefined
  afterEach(async () => {
    await server?.stop()
    server = undefined
  })

  it('without options serves from memory on a loopback address, and logs its URLs', async () => {
    server = await startProcess([])
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    const [serving] = server.log()
    expect(serving).toMatchObject({
      level: 'info',
      store: 'memory',
      docs: `${server.url}/docs`,
      metrics: `${server.url}/metrics`,
    })
    const example = /^curl -i '(.*)'$/.exec(String(serving?.try))?.[1]
    expect((await ask(example!)).body).toMatchObject({ allowed: true, key: 'user:123', remaining: 99 })
    // The log is written asynchronously, so the second line may arrive after the response.
    await until('the second line', () => server!.log().length >= 2)
    const [, generated] = server.log()
    expect(generated).toMatchObject({ level: 'info', msg: expect.stringContaining('Admin token generated') })
    expect(server.log()).toHaveLength(2)
  })

  it('with tokens of its own logs a check with a placeholder for the token, and the dashboard', async () => {
    const file = configFile(
      'callers: [{ name: shop, token: a-long-caller-token, keyPrefix: "shop\'s:" }]\nadminToken: a-long-admin-token',
    )
    try {
      server = await startProcess(['-c', file.path])
      const [serving] = server.log()
      expect(serving).toMatchObject({
        try: `curl -i -H 'Authorization: Bearer <token of shop>' '${server.url}${CHECK}?key=shop%27s%3A123'`,
        dashboard: `${server.url}/`,
      })
      const headers = { authorization: 'Bearer a-long-caller-token' }
      const example = /'(http.*)'$/.exec(String(serving?.try))?.[1]
      expect((await ask(example!, { headers })).body).toMatchObject({ allowed: true, key: "shop's:123" })
      expect(JSON.stringify(server.log())).not.toContain('a-long')
    } finally {
      file.remove()
    }
  })

  it('writes no line per request', async () => {
    server = await startProcess([])
    for (const path of ['/', '/missing', CHECK, `${CHECK}?permits=x`, '/healthz'])
      await ask(server.url + path)
    expect(server.log()).toHaveLength(2)
  })

  it.each([
    ['no token is set', '', {}, 'info', 'Admin token generated'],
    [
      'there is an admin token',
      '',
      { TIDEGATE_ADMIN_TOKEN: 'a-long-admin-token' },
      'warn',
      'can check any key',
    ],
    [
      'there are callers',
      'callers: [{ name: a, token: a-long-caller-token }]',
      {},
      'info',
      'Admin token generated',
    ],
  ])('on every address, if %s', async (_title, yaml, env, level, message) => {
    const file = configFile(yaml)
    try {
      server = await startProcess(['--host', '0.0.0.0', '-c', file.path], env as Record<string, string>)
      expect((await ask(`${server.url}/healthz`)).status).toBe(200)
      const { log } = server
      await until('the second log line', () => log().length >= 2)
      const [serving, line] = log()
      expect(serving?.msg).toMatch(/listening on http:\/\/127\.0\.0\.1:\d+/)
      expect(line?.level).toBe(level)
      if (line !== undefined) expect(line.msg).toContain(message)
    } finally {
      file.remove()
    }
  })

  it('reports which port is in use, of the API or of the gateway, and the option to change', async () => {
    server = await startProcess([])
    const { port } = new URL(server.url)
    const file = configFile(`gateway: { listen: ${port}, routes: [{ uri: "http://localhost:1" }] }`)
    try {
      const inUse = `Port ${port} of 127.0.0.1 is already in use. Choose another port`
      const api = await runCommand(['start', '--port', port])
      expect(api).toStrictEqual({
        code: 1,
        output: `${inUse} with --port, or stop the program that uses it.\n`,
      })
      const gateway = await runCommand(['start', '--port', '0', '-c', file.path])
      expect(gateway.code).toBe(1)
      expect(gateway.output).toContain(`${inUse} in gateway.listen, or stop the program that uses it.\n`)
    } finally {
      file.remove()
    }
  })

  it('takes the store, the host and the admin token from the environment', async () => {
    server = await startProcess([], {
      TIDEGATE_HOST: 'localhost',
      TIDEGATE_STORE: 'memory',
      TIDEGATE_ADMIN_TOKEN: 'from-the-environment',
    })
    expect((await ask(`${server.url}/api/v1/admin/policies`)).status).toBe(401)
    const headers = { authorization: 'Bearer from-the-environment' }
    expect((await ask(`${server.url}/api/v1/admin/policies`, { headers })).status).toBe(200)
    expect(JSON.stringify(server.log())).not.toContain('from-the-environment')
  })
})
