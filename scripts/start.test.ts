import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { pause, until } from '@tidegate/fixtures/until'
import { it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

it('a SIGTERM to npm start ends the service, once it has answered what is in flight', async () => {
  // A group of its own, so that nothing of it is left whatever happens.
  const npm = spawn('npm', ['start', '--', '--port', '0'], { cwd: root, detached: true })
  try {
    let says = ''
    for (const stream of [npm.stdout, npm.stderr]) {
      stream.on('data', (data) => {
        says += data
      })
    }
    const url = () => /serves on (http:\S+?)"/.exec(says)?.[1]
    await until('it to serve', () => url() !== undefined, { timeoutMs: 50_000 })
    const { port } = new URL(url()!)
    const client = connect(Number(port), '127.0.0.1')
    let answer = ''
    client.on('data', (data) => {
      answer += data
    })
    client.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n')
    // Until the service has read it: it would close a connection that has asked for nothing.
    await pause(200)

    npm.kill('SIGTERM')
    await until('it to finish', () => says.includes('finishing what is in flight'))
    await pause(500)
    client.write('\r\n')
    await until('what was in flight to be answered', () => answer.startsWith('HTTP/1.1 200 '))
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
    // Nothing is left of it.
  }
}
