import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { freePort } from '@tidegate/fixtures/free-port'
import { until } from '@tidegate/fixtures/until'
import { afterEach, describe, expect, it } from 'vitest'
import { configFile } from '../../test/process.js'

const COMMAND = fileURLToPath(new URL('../../bin/tidegate.mjs', import.meta.url))

describe('a service whose log is on a full disk', () => {
  let child: ChildProcess | undefined
  afterEach(() => void child?.kill('SIGKILL'))

  it('serves without a log, and stops on SIGTERM', async () => {
    const [port, gatewayPort] = [await freePort(), await freePort()]
    const file = configFile(
      `gateway: { listen: ${gatewayPort}, accessLog: json, routes: [{ uri: "http://localhost:1" }] }`,
    )
    const full = openSync('/dev/full', 'w')
    try {
      child = spawn(process.execPath, [COMMAND, 'start', '--port', String(port), '-c', file.path], {
        stdio: ['ignore', full, full],
      })
      const ended = once(child, 'exit')
      const statusOf = (port: number, path: string) =>
        fetch(`http://127.0.0.1:${port}${path}`).then(
          ({ status }) => status,
          () => undefined,
        )
      await until('the gateway to serve', async () => (await statusOf(gatewayPort, '/')) === 502)
      // The log line of the previous request could not be written.
      expect(await statusOf(gatewayPort, '/')).toBe(502)
      expect(await statusOf(port, '/healthz')).toBe(200)
      child.kill('SIGTERM')
      expect(await ended).toStrictEqual([0, null])
    } finally {
      closeSync(full)
      file.remove()
    }
  })
})
