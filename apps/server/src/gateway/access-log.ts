import type { IncomingMessage, ServerResponse } from 'node:http'

/** What is known of a request once it has ended. */
export interface Ended {
  readonly id: string
  readonly route: string | undefined
  readonly seconds: number
}

export type AccessLog = (message: IncomingMessage, response: ServerResponse, ended: Ended) => void
