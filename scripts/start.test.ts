import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { pause, until } from '@tidegate/fixtures/until'
import { it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

it('a SIGTERM to npm start ends the service after the requests in flight', async () => {
  // In its own process group, so that the test can end all of its processes.
  const npm = spawn('npm', ['start', '--', '--port', '0'], { cwd: root, detached: true })
  try {
    let output = ''
    for (const stream of [npm.stdout, npm.stderr]) {
      stream.on('data', (data) => {
        output += data
      })
    }
    const url = () => /listening on (http:\S+?)"/.exec(output)?.[1]
    await until('the service to listen', () => url() !== undefined, { timeoutMs: 50_000 })
    const { port } = new URL(url()!)
    const client = connect(Number(port), '127.0.0.1')
    let answer = ''
    client.on('data', (data) => {
      answer += data
    })
    client.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n')
    // The service must have read this part: it closes connections without a request.
    await pause(200)

    npm.kill('SIGTERM')
    await until('the service to stop', () => output.includes('finishing the requests in flight'))
    await pause(500)
    client.write('\r\n')
    await until('a response to the request in flight', () => answer.startsWith('HTTP/1.1 200 '))
    const isGone = () =>
      fetch(`${url()}/healthz`).then(
        () => false,
        () => true,
      )
    await until('the port to be free', isGone)
  } finally {
    endGroup(npm.pid!)
  }
})

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of its processes have ended.
  }
}
