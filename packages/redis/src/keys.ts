import { show, TidegateError } from '@tidegate/core'

/*
 * Every name of a Redis key is made here: <prefix>:<policy>:<client key>.
 *
 * Policy names have no colon, so different pairs of policy and client key have different names. On a cluster, text in
 * braces would choose the slot: braces are written %7B and %7D, and % as %25. A client key therefore never chooses its
 * slot, and stays readable in redis-cli.
 */

export const DEFAULT_PREFIX = 'rate_limiter'

export function redisKey(prefix: string, policyName: string, key: string): string {
  return `${prefix}:${policyName}:${SPECIAL.test(key) ? key.replace(SPECIAL_ALL, escaped) : key}`
}

export function assertPrefix(prefix: unknown): asserts prefix is string {
  if (typeof prefix === 'string' && /^[\w.:-]{1,64}$/.test(prefix)) return
  throw new TidegateError(
    'OPTION_INVALID',
    `prefix must be 1 to 64 letters, digits and "_.:-", got ${show(prefix)}. Leave it out for "${DEFAULT_PREFIX}".`,
    { field: 'prefix' },
  )
}

const SPECIAL = /[%{}]/
const SPECIAL_ALL = /[%{}]/g

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}
