import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface HonestClient {
  readonly name: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** The certificate to trust for an https URL. */
  readonly ca?: string
}

/** The responses to one client, counted by `status degraded`, such as `429 store` or `200 open`. */
export interface HonestResult {
  readonly name: string
  readonly responses: Readonly<Record<string, number>>
  readonly errors: readonly string[]
  readonly slowestMs: number
}

export interface HonestClients {
  /** Waits for a limited number of requests and returns what the clients received. */
  finish(): Promise<HonestResult[]>
  /** Ends the clients and returns what they received. */
  stop(): Promise<HonestResult[]>
  kill(): Promise<void>
}

const PROGRAM = fileURLToPath(new URL('./honest-clients.mjs', import.meta.url))

/** Starts clients in a process of their own, so that a flood from this process does not delay them. */
export async function startHonestClients(
  clients: readonly HonestClient[],
  requests?: number,
): Promise<HonestClients> {
  const args = [JSON.stringify(clients), ...(requests === undefined ? [] : [String(requests)])]
  const child = fork(PROGRAM, args)
  const exit = once(child, 'exit')
  await once(child, 'message')
  const results = once(child, 'message')
  return {
    finish: async () => (await results)[0] as HonestResult[],
    async stop() {
      child.send('stop')
      return (await results)[0] as HonestResult[]
    },
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await exit
    },
  }
}

/** Sends a number of requests, one after the other. */
export async function sendRequests(
  client: HonestClient,
  requests: number,
): Promise<HonestResult['responses'] | undefined> {
  const clients = await startHonestClients([client], requests)
  try {
    return (await clients.finish())[0]?.responses
  } finally {
    await clients.kill()
  }
}
