import { TidegateError } from '../errors.js'

export function invalidPolicy(field: string | undefined, message: string): TidegateError {
  return new TidegateError('POLICY_INVALID', message, field === undefined ? {} : { field })
}
