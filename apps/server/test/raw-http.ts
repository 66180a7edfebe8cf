import { connect } from 'node:net'

/**
 * Sends exactly these bytes. Resolves to the first response if they are one request, or to everything until the other side
 * closes the connection.
 */
export function sendRaw(url: string, bytes: string | Buffer, isOne = true): Promise<string> {
  const { hostname, port } = new URL(url)
  const hasNoBody = Buffer.from(bytes).toString('latin1', 0, 5) === 'HEAD '
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    let answer = ''
    socket.setTimeout(30_000, () => socket.destroy())
    socket.on('data', (data) => {
      answer += data.toString('latin1')
      if (isOne && isWhole(answer, hasNoBody)) socket.destroy()
    })
    // The connection may be closed while the request is sent; the bytes received so far are the response.
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
  })
}

function isWhole(answer: string, hasNoBody: boolean): boolean {
  const end = answer.indexOf('\r\n\r\n')
  if (hasNoBody) return end >= 0
  const length = /^content-length: (\d+)/im.exec(answer)
  return end >= 0 && length !== null && answer.length >= end + 4 + Number(length[1])
}

export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
}
