import type { FastifyRequest } from 'fastify'
import { badRequest } from '../../http/http-error.js'

/** Rejects a body where only the query is read: ignoring a key in the body would check another key. */
export function assertNoBody({ headers, method }: FastifyRequest): void {
  const length = headers['content-length']
  if ((length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined) {
    throw badRequest(undefined, `${method} must not have a body; send the fields in the query.`)
  }
}
