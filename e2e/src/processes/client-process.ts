import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Decision } from '@tidegate/core'

export interface ClientOptions {
  readonly kind: 'redis' | 'remote'
  readonly url: string
  /** Whether the application has an `onEvent` of its own. Default: false. */
  readonly listens?: boolean
}

interface Result<Value> {
  readonly value?: Value
  readonly error?: { readonly code?: string; readonly message: string }
  readonly tookMs: number
}

/** A process with a limiter like an application: see `client-process.mjs`. */
export interface ClientProcess {
  check(): Promise<Result<Decision>>
  storeReady(): Promise<Result<void>>
  limiterReady(): Promise<Result<void>>
  /** Everything that the process printed to stderr. */
  stderr(): string
  stop(): Promise<void>
}

const PROGRAM = fileURLToPath(new URL('./client-process.mjs', import.meta.url))

export async function startClient(options: ClientOptions): Promise<ClientProcess> {
  const child = fork(PROGRAM, [JSON.stringify(options)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const exit = once(child, 'exit')
  let stderr = ''
  child.stderr!.on('data', (data) => {
    stderr += data
  })
  const answer = async () => {
    const [message] = await Promise.race([
      once(child, 'message'),
      exit.then(([code]) => Promise.reject(new Error(`the client exited with ${code}: ${stderr}`))),
    ])
    return message
  }
  async function call<Value>(method: string): Promise<Result<Value>> {
    const answered = answer()
    child.send(method)
    return (await answered) as Result<Value>
  }
  await answer()
  return {
    check: () => call('check'),
    storeReady: () => call('storeReady'),
    limiterReady: () => call('limiterReady'),
    stderr: () => stderr,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await exit
    },
  }
}
