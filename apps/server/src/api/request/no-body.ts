import type { FastifyRequest } from 'fastify'
import { badRequest } from '../../http/http-error.js'

/** Rejects a body where only the query is read: ignoring its key would check another one. */
export function assertNoBody({ headers, method }: FastifyRequest): void {
  const length = headers['content-length']
  if ((length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined) {
    throw badRequest(undefined, `${method} takes no body here; send the fields in the query.`)
  }
}
