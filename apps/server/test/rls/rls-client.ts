import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('./rls_client.py', import.meta.url))
/** Debian's own, which has the package python3-grpcio. */
const PYTHON = '/usr/bin/python3'

/** A client in Python, on a connection of its own. */
export interface RlsClient {
  /** Sends one line to the program, and returns its answer. */
  // biome-ignore lint/suspicious/noExplicitAny: the answer is JSON
  send(line: object): Promise<any>
  close(): Promise<void>
}

export function rlsClient(address: string, ...options: readonly string[]): RlsClient {
  const child = spawn(PYTHON, [PROGRAM, address, ...options], { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting: ((line: string) => void)[] = []
  createInterface(child.stdout).on('line', (line) => waiting.shift()?.(line))
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    send(line) {
      const answer = new Promise<string>((resolve, reject) => {
        waiting.push(resolve)
        ended.then(() => reject(new Error('the client in Python has ended')))
      })
      child.stdin.write(`${JSON.stringify(line)}\n`)
      return answer.then((text) => JSON.parse(text))
    },
    async close() {
      child.stdin.end()
      await ended
    },
  }
}
