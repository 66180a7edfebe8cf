import type { FastifyRequest } from 'fastify'
import { badRequest } from './api-error.js'

/** A body that is not read could have named somebody, who is then not counted: better to say so. */
export function assertNoBody({ headers, method }: FastifyRequest): void {
  const length = headers['content-length']
  if ((length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined) {
    throw badRequest(undefined, `${method} takes no body here; write the fields in the query.`)
  }
}
