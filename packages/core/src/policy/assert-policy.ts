import { isCompatibleVersion } from '../copies.js'
import { show, TidegateError } from '../errors.js'
import { VERSION } from '../version.js'
import type { Policy } from './policy.js'

/** Marks each policy with the package version that made it. JSON and spreads do not copy the mark. */
const MADE_BY = Symbol.for('@tidegate/core: policy made by')

export function markPolicy(policy: object): void {
  Object.defineProperty(policy, MADE_BY, { value: VERSION })
}

/**
 * Throws `POLICY_INVALID` for a value that was not made by a policy factory or `definePolicy`. Accepts policies of another
 * copy of this package if the versions are compatible.
 */
export function assertPolicy(value: unknown): asserts value is Policy {
  const madeBy = markOf(value)
  if (madeBy !== undefined) {
    if (isCompatibleVersion(madeBy)) return
    throw invalid(
      `There are two copies of @tidegate/core: ${VERSION} received a policy made by ${madeBy}. Install one version of it; npm ls @tidegate/core lists the copies.`,
    )
  }
  if (value === undefined)
    throw invalid("policy is missing; write policy: fixedWindow({ limit: 100, window: '1m' }).")
  throw invalid(
    `policy must be made by a policy factory or definePolicy(), got ${show(value)}. Write for example fixedWindow({ limit: 100, window: '1m' }).`,
  )
}

/** Whether any version of this package made the value as a policy. */
export function isPolicy(value: unknown): value is Policy {
  return markOf(value) !== undefined
}

/** The version that made a policy, or undefined for any other value. */
function markOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, MADE_BY)) return undefined
  const version = (value as { [MADE_BY]?: unknown })[MADE_BY]
  return typeof version === 'string' ? version : undefined
}

function invalid(message: string): TidegateError {
  return new TidegateError('POLICY_INVALID', message, { field: 'policy' })
}
