import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { RouteInForce } from './in-force.js'
import { answerProblem } from './problem.js'
import type { Flat } from './request-headers.js'

/** A connection that wants to go on as something else, and what has come on it already. */
export interface Upgrade {
  readonly socket: Duplex
  readonly head: Buffer
}

export interface Opening {
  readonly message: IncomingMessage
  readonly response: ServerResponse
  readonly inForce: RouteInForce
  readonly headers: Flat
  readonly target: string
  readonly limits: Readonly<Record<string, string>>
  readonly upgrade: Upgrade
}

export function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.trim().toLowerCase() === 'websocket'
}

export function openTunnel({ response }: Opening): void {
  answerProblem(response, 501, 'Not yet.')
}
