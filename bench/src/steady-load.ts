import { connect, type Socket } from 'node:net'

export interface SteadyLoad {
  url: string
  /** Asked for one after another, over and over. */
  paths: readonly string[]
  perSecond: number
  connections: number
  count: number
}

export interface SteadyAnswers {
  /** From when each was due, not from when it could be sent: a server that stalls is not spared its own queue. */
  waitsMs: Float64Array
  /** Answers other than 200 that the store has given. */
  failures: number
  seconds: number
}

/** How long answers may be due before it gives up. */
const PATIENCE_MS = 10_000

/** Sends requests at an even rate, whatever becomes of those before. */
export async function loadSteadily(load: SteadyLoad): Promise<SteadyAnswers> {
  const { url, paths, perSecond, connections, count } = load
  const { host, hostname, port } = new URL(url)
  const requests = paths.map((path) => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`))
  const waitsMs = new Float64Array(count)
  const idle: Socket[] = []
  const sockets: Socket[] = []
  let failures = 0
  let sent = 0
  let answered = 0
  let start = 0
  const dueMs = (i: number) => start + (i * 1000) / perSecond

  function sendWhatIsDue(): void {
    const now = performance.now()
    while (sent < count && idle.length > 0 && dueMs(sent) <= now) {
      const socket = idle.pop()!
      asked.set(socket, sent)
      socket.write(requests[sent % requests.length]!)
      sent++
    }
  }

  const asked = new Map<Socket, number>()
  const done = new Promise<void>((resolve, reject) => {
    setTimeout(
      () => reject(new Error(`${count - answered} of ${count} requests were not answered.`)),
      (count / perSecond) * 1000 + PATIENCE_MS,
    ).unref()

    function answer(socket: Socket, isWell: boolean): void {
      const i = asked.get(socket)
      if (i === undefined) {
        reject(new Error('An answer came that nobody has asked for.'))
        return
      }
      asked.delete(socket)
      waitsMs[i] = performance.now() - dueMs(i)
      if (!isWell) failures++
      idle.push(socket)
      if (++answered === count) resolve()
      else sendWhatIsDue()
    }

    for (let i = 0; i < connections; i++) {
      const socket = connect(Number(port), hostname).setNoDelay()
      sockets.push(socket)
      idle.push(socket)
      readAnswers(socket, (isWell) => answer(socket, isWell))
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('The server has closed a connection.')))
    }
  })
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
  start = performance.now()
  const timer = setInterval(sendWhatIsDue, 1)
  try {
    await done
    return { waitsMs, failures, seconds: (performance.now() - start) / 1000 }
  } finally {
    clearInterval(timer)
    for (const socket of sockets) socket.removeAllListeners('close').destroy()
  }
}

/** Says of each answer on a connection whether it is 200, and of the store. */
function readAnswers(socket: Socket, onAnswer: (isWell: boolean) => void): void {
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (piece) => {
    text += piece
    const headersEnd = text.indexOf('\r\n\r\n')
    if (headersEnd < 0) return
    const head = text.slice(0, headersEnd)
    const length = /^content-length: (\d+)/im.exec(head)
    if (length === null) return void socket.destroy(new Error(`An answer without a length: ${head}`))
    const end = headersEnd + 4 + Number(length[1])
    if (text.length < end) return
    text = text.slice(end)
    onAnswer(head.startsWith('HTTP/1.1 200 ') && !/^x-ratelimit-degraded:/im.test(head))
  })
}
