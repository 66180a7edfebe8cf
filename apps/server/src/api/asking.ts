import { assertKey, show, type TakeRequest, type TidegateError } from '@tidegate/core'
import type { FastifyRequest } from 'fastify'
import { ALGORITHM_CHOICES } from '../algorithms.js'
import type { Caller } from '../config/callers.js'
import type { InForce, PolicyInForce } from '../in-force.js'
import { ApiError, badRequest } from './api-error.js'
import { clientAddress } from './client.js'

/** What is asked in a query, a body, or one entry of a batch. */
export interface Question {
  readonly key?: string | undefined
  readonly algorithm?: string | undefined
  readonly policy?: string | undefined
  readonly permits?: number | undefined
}

/** What a question means: whom to count, by which policy. */
export interface Asked {
  readonly by: PolicyInForce
  readonly take: TakeRequest
}

/**
 * What a question means under the configuration that was in force when it came. What can never be right throws before
 * anything is counted. `at` is where the question stands, such as `checks[3].`.
 */
export function understand(question: Question, request: FastifyRequest, at = ''): Asked {
  const { caller, inForce } = request
  const by = policyOf(inForce, question, caller, at)
  const key = keyOf(inForce, question.key, request, at)
  if (caller !== null) assertOwn(caller, key, by, at)
  const { permits = 1 } = question
  if (permits < 1 || permits > by.policy.limit) throw permitsRefused(permits, by, at)
  return { by, take: { policy: by.policy, key, cost: permits } }
}

export function policyOf(
  inForce: InForce,
  { algorithm, policy }: Question,
  caller: Caller | null,
  at = '',
): PolicyInForce {
  if (algorithm === undefined && policy === undefined) return inForce.defaultPolicy
  if (algorithm === undefined) {
    const known = inForce.policies.get(policy!)
    if (known === undefined) throw unknownPolicy(policy!, caller, at)
    return known
  }
  if (policy !== undefined) {
    throw badRequest(`${at}algorithm`, `Give ${at}algorithm or ${at}policy, not both.`)
  }
  const known = inForce.byAlgorithm.get(algorithm)
  if (known !== undefined) return known
  const choices = Object.keys(ALGORITHM_CHOICES).join(', ')
  throw badRequest(`${at}algorithm`, `${at}algorithm must be one of ${choices}, got ${show(algorithm)}.`)
}

/** The key that is given, or else where the request comes from. */
function keyOf(inForce: InForce, given: string | undefined, { raw }: FastifyRequest, at: string): string {
  const key = given ?? addressKey(clientAddress(inForce, raw))
  if (key === undefined) throw badRequest(`${at}key`, `${at}key is missing, and the client has no address.`)
  assertClientKey(key, at)
  const { keyPattern } = inForce.config
  if (keyPattern !== undefined && !keyPattern.test(key)) {
    const what = given === undefined ? `${at}key is missing, and the client's address` : `${at}key`
    throw badRequest(`${at}key`, `${what} does not match ${keyPattern.source}.`)
  }
  return key
}

export function assertClientKey(key: string, at = ''): void {
  try {
    assertKey(key)
  } catch (error) {
    const { message } = error as TidegateError
    throw badRequest(`${at}key`, at === '' ? message : message.replace('The key', `${at}key`))
  }
}

function addressKey(address: string | undefined): string | undefined {
  return address === undefined ? undefined : `ip:${address}`
}

/** Throws 403 for a key or a policy that the caller may not use. */
export function assertOwn({ keyPrefix, policies }: Caller, key: string, by: PolicyInForce, at = ''): void {
  if (policies !== undefined && !policies.has(by.policy.name)) throw notYours('policy', by.policy.name, at)
  if (keyPrefix !== undefined && !key.startsWith(keyPrefix)) throw notYours('key', key, at)
}

function notYours(field: 'key' | 'policy', value: string, at: string): ApiError {
  return new ApiError(403, `This caller may not use the ${field} ${show(value)}.`, { field: at + field })
}

function unknownPolicy(name: string, caller: Caller | null, at: string): ApiError {
  // To whom it is none of their business, every other policy looks alike.
  if (caller?.policies !== undefined) return notYours('policy', name, at)
  const message = `There is no policy ${show(name)}; see default and policies in the configuration.`
  // In a batch it is one mistake among others, and whatever is wrong with an entry is 400 for the whole.
  return new ApiError(at === '' ? 404 : 400, message, { field: `${at}policy` })
}

function permitsRefused(permits: number, { policy }: PolicyInForce, at: string): ApiError {
  const field = `${at}permits`
  if (permits < 1) return badRequest(field, `${field} must be a whole number from 1 up, got ${permits}.`)
  const message = `${field} is ${permits}, more than ${show(policy.name)} ever allows: its limit is ${policy.limit}.`
  return badRequest(field, message)
}
