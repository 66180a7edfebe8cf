import { show, TidegateError } from '@tidegate/core'

/*
 * The names of Redis keys: <prefix>:<policy>:<client key>.
 *
 * Policy names have no colon, so different pairs of policy and client key have different names. On a cluster, text in
 * braces would select the slot, so braces are escaped as %7B and %7D, and % as %25. So clients cannot choose their slot, and
 * keys stay readable in redis-cli.
 */

export const DEFAULT_PREFIX = 'rate_limiter'

export function redisKey(prefix: string, policyName: string, key: string): string {
  return `${prefix}:${policyName}:${SPECIAL.test(key) ? key.replace(SPECIAL_ALL, escaped) : key}`
}

export function assertPrefix(prefix: unknown): asserts prefix is string {
  if (typeof prefix === 'string' && /^[\w.:-]{1,64}$/.test(prefix)) return
  throw new TidegateError(
    'OPTION_INVALID',
    `prefix must be 1 to 64 letters, digits, "_", ".", ":" and "-", got ${show(prefix)}. Leave it out for "${DEFAULT_PREFIX}".`,
    { field: 'prefix' },
  )
}

const SPECIAL = /[%{}]/
const SPECIAL_ALL = /[%{}]/g

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}
