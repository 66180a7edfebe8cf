import { connect } from 'node:net'

/** What comes back when these very bytes are sent, up to where the other side closes or is silent. */
export function sendRaw(url: string, bytes: string | Buffer, silenceMs = 1000): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    let answer = ''
    socket.setTimeout(silenceMs, () => socket.destroy())
    socket.on('data', (data) => {
      answer += data.toString('latin1')
      if (isWhole(answer)) socket.destroy()
    })
    // Closed in the middle of what we send: what came before is the answer.
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
  })
}

function isWhole(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n')
  const length = /^content-length: (\d+)/im.exec(answer)
  return end >= 0 && length !== null && answer.length >= end + 4 + Number(length[1])
}

export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
}
