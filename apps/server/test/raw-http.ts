import { connect } from 'node:net'

/**
 * What comes back when these very bytes are sent: the first answer if they are one request, or all up to where the other
 * side closes.
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
    // Closed in the middle of what we send: what came before is the answer.
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
