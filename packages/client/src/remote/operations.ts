import { type Call, TidegateError } from '@tidegate/core'
import type { SendRequest, ServiceResponse } from './service.js'

/** Posts to an operation of the service, such as `reserve`. */
export type Operate = (operation: string, json: object, call: Call | undefined) => Promise<ServiceResponse>

export function createOperations(
  gate: <T>(call: Call | undefined, send: () => Promise<T>) => Promise<T>,
  sendRequest: SendRequest,
): Operate {
  return async (operation, json, call) => {
    const path = `/api/v1/rate-limit/${operation}`
    const response = await gate(call, () => sendRequest({ method: 'POST', path, json }))
    // An unknown policy is a 404 too, but has a field.
    if (response.status === 404 && response.body.field === undefined) {
      const message = `This version of the service does not support ${operation}. Update the service.`
      throw new TidegateError('OPERATION_UNSUPPORTED', message, { field: 'store' })
    }
    return response
  }
}
