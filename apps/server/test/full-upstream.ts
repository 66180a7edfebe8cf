import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

const PROGRAM = `
import socket, sys
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(0)
print(s.getsockname()[1], flush=True)
sys.stdin.read()
`

/**
 * An upstream that accepts no connection, and whose queue is full: the system lets new connections wait. Node accepts all,
 * so it is in Python.
 */
export async function startFullUpstream(): Promise<{ url: string; close(): Promise<void> }> {
  const server = spawn('python3', ['-c', PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [said] = (await once(server.stdout, 'data')) as [Buffer]
  const port = Number(said.toString())
  const waiting: Socket[] = []
  while (waiting.length < 16 && (await isLetIn())) {}
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      for (const socket of waiting) socket.destroy()
      const ended = once(server, 'exit')
      server.stdin.end()
      await ended
    },
  }

  function isLetIn(): Promise<boolean> {
    const socket = connect(port, '127.0.0.1')
    waiting.push(socket.on('error', () => {}))
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), 300)
      socket.once('connect', () => {
        clearTimeout(timer)
        resolve(true)
      })
    })
  }
}
