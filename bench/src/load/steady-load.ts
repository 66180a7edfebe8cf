import { connect, type Socket } from 'node:net'

export interface SteadyLoad {
  url: string
  /** Requested one after another, repeatedly. */
  paths: readonly string[]
  perSecond: number
  connections: number
  count: number
  /** How long the last responses may take after they are due. Default: 10 s. */
  timeoutMs?: number
}

export interface SteadyResult {
  /** From the time each request was due, not from when it was sent, so that a stalled server's queue counts. */
  waitsMs: Float64Array
  /** Responses other than 200, or decided without the store, and requests without a response. */
  failures: number
  responses: number
  seconds: number
}

/** Sends requests at an even rate, whether or not earlier requests have been answered. */
export async function loadSteadily(load: SteadyLoad): Promise<SteadyResult> {
  const { url, paths, perSecond, connections, count, timeoutMs = 10_000 } = load
  const { host, hostname, port } = new URL(url)
  const requests = paths.map((path) => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`))
  const waitsMs = new Float64Array(count)
  const idle: Socket[] = []
  const sockets: Socket[] = []
  let failures = 0
  let sent = 0
  let responses = 0
  let start = 0
  const dueMs = (i: number) => start + (i * 1000) / perSecond

  function sendDue(): void {
    const now = performance.now()
    while (sent < count && idle.length > 0 && dueMs(sent) <= now) {
      const socket = idle.pop()!
      inFlight.set(socket, sent)
      socket.write(requests[sent % requests.length]!)
      sent++
    }
  }

  const inFlight = new Map<Socket, number>()
  const done = new Promise<void>((resolve, reject) => {
    setTimeout(giveUp, (count / perSecond) * 1000 + timeoutMs).unref()

    /** Requests without a response have waited until now. */
    function giveUp(): void {
      const now = performance.now()
      for (let i = 0; i < count; i++) if (waitsMs[i] === 0) waitsMs[i] = now - dueMs(i)
      failures += count - responses
      resolve()
    }

    function onResponse(socket: Socket, isSuccess: boolean): void {
      const i = inFlight.get(socket)
      if (i === undefined) {
        reject(new Error('A response arrived without a request.'))
        return
      }
      inFlight.delete(socket)
      waitsMs[i] = performance.now() - dueMs(i)
      if (!isSuccess) failures++
      idle.push(socket)
      if (++responses === count) resolve()
      else sendDue()
    }

    for (let i = 0; i < connections; i++) {
      const socket = connect(Number(port), hostname).setNoDelay()
      sockets.push(socket)
      idle.push(socket)
      readResponses(socket, (isSuccess) => onResponse(socket, isSuccess))
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('The server closed a connection.')))
    }
  })
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
  start = performance.now()
  const timer = setInterval(sendDue, 1)
  try {
    await done
    return { waitsMs, failures, responses, seconds: (performance.now() - start) / 1000 }
  } finally {
    clearInterval(timer)
    for (const socket of sockets) socket.removeAllListeners('close').destroy()
  }
}

/** Calls back for each response on a connection: true if its status is 200 and the store decided. */
function readResponses(socket: Socket, onResponse: (isSuccess: boolean) => void): void {
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (piece) => {
    text += piece
    const headersEnd = text.indexOf('\r\n\r\n')
    if (headersEnd < 0) return
    const head = text.slice(0, headersEnd)
    const length = /^content-length: (\d+)/im.exec(head)
    if (length === null) return void socket.destroy(new Error(`A response without Content-Length: ${head}`))
    const end = headersEnd + 4 + Number(length[1])
    if (text.length < end) return
    text = text.slice(end)
    onResponse(head.startsWith('HTTP/1.1 200 ') && !/^x-ratelimit-degraded:/im.test(head))
  })
}
