import { storeFailed, TidegateError } from '@tidegate/core'

export const ABANDONED = storeFailed('overload', 'The caller has stopped waiting.')

/** No node can currently decide all limits of the entry in one call. The entry was not executed. */
export const NOT_ON_ONE_NODE = storeFailed('unreachable', 'The limits are on several nodes of the cluster.')

export function lacksScript(error: unknown): boolean {
  return messageOf(error).startsWith('NOSCRIPT')
}

/** Whether a cluster rejected a call with several keys because their slot is moving. ioredis retries it first. */
export function isMoving(error: unknown): boolean {
  return /^TRYAGAIN|^Too many Cluster redirections.*\b(?:TRYAGAIN|ASK)\b/.test(messageOf(error))
}

/**
 * Whether an entry was not executed because a node does not serve its slot, or not all of its keys. These are the errors
 * of Redis 6 and 7 for MOVED, ASK, TRYAGAIN and CLUSTERDOWN inside a script.
 */
export function isElsewhere(error: unknown): boolean {
  return /non local key|slot not served|during rehashing of the slot|while the cluster is down/.test(
    messageOf(error),
  )
}

/** Whether a call or an entry was not executed because its keys are not declared. */
export function rejectsUndeclaredKeys(error: unknown): boolean {
  return /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN|CROSSSLOT)\b|undeclared|hash to the same slot/.test(
    messageOf(error),
  )
}

export function failureOf(error: unknown, lostReason?: string): TidegateError {
  if (error instanceof TidegateError) return error
  const reason = withoutPeriod(error instanceof Error ? error.message : String(error))
  const lost =
    lostReason === undefined
      ? ''
      : ` The connection was lost (${withoutPeriod(lostReason)}). Check that Redis is running and its address is correct.`
  return new TidegateError('STORE_FAILED', `Redis failed a call: ${reason}.${loginAdvice(reason)}${lost}`, {
    cause: error,
  })
}

/** The error of a call while the connection is down for a known reason. */
export function unreachable(lostReason: string): TidegateError {
  const reason = withoutPeriod(lostReason)
  return storeFailed('unreachable', `Redis is unreachable: ${reason}.${loginAdvice(reason)}`)
}

/** Advice for a login that Redis rejects. Never contains the password. */
function loginAdvice(reason: string): string {
  if (reason.startsWith('NOAUTH')) return ' Write the password in the URL: redis://:PASSWORD@host.'
  if (!reason.startsWith('WRONGPASS')) return ''
  return ' Check the user name and the password in the URL: redis://USER:PASSWORD@host.'
}

/** Removes the period at the end of some client messages, which become a part of another sentence. */
function withoutPeriod(message: string): string {
  return message.replace(/\.$/, '')
}

function messageOf(error: unknown): string {
  return String((error as Error)?.message)
}
