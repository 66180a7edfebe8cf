import { assertKey, show, type TakeRequest, type TidegateError } from '@tidegate/core'
import type { FastifyRequest } from 'fastify'
import type { ActiveConfig, ActivePolicy } from '../../active-config.js'
import { ALGORITHM_CHOICES } from '../../algorithms.js'
import type { Caller } from '../../config/sections/callers.js'
import { badRequest, HttpError } from '../../http/http-error.js'
import { clientAddress } from './client-address.js'

/** The fields of a check, from a query, a body, or one entry of a batch. */
export interface CheckInput {
  readonly key?: string | undefined
  readonly algorithm?: string | undefined
  readonly policy?: string | undefined
  readonly permits?: number | undefined
}

/** A valid check: the policy it uses, and the request for the store. */
export interface ParsedCheck {
  readonly activePolicy: ActivePolicy
  readonly takeRequest: TakeRequest
}

/** A policy and a key that the caller may use. */
export interface ParsedKey {
  readonly activePolicy: ActivePolicy
  readonly key: string
}

/**
 * Validates a check against the configuration that was active when the request arrived. Throws before anything is
 * counted. `at` is the path of the input, such as `checks[3].`.
 */
export function parseCheck(input: CheckInput, request: FastifyRequest, at = ''): ParsedCheck {
  const { activePolicy, takeRequest } = parsePeek(input, request, at)
  assertRate(activePolicy, at)
  return { activePolicy, takeRequest }
}

/** Validates a check that is not counted. It may also use a concurrency policy. */
export function parsePeek(input: CheckInput, request: FastifyRequest, at = ''): ParsedCheck {
  const { activePolicy, key } = parseKey(input, request, at)
  const { policy } = activePolicy
  const { permits = 1 } = input
  if (permits < 1 || permits > policy.limit) throw permitsError(permits, activePolicy, at)
  return { activePolicy, takeRequest: { policy, key, cost: permits } }
}

/** Validates the policy and the key of an input. */
export function parseKey(input: CheckInput, request: FastifyRequest, at = ''): ParsedKey {
  const { caller, activeConfig } = request
  const activePolicy = findPolicy(activeConfig, input, caller, at)
  const key = keyOf(activeConfig, input.key, request, at)
  if (caller !== null) assertCallerMay(caller, key, activePolicy, at)
  return { activePolicy, key }
}

/** Throws 400 for a concurrency policy: a check could not release its slot. */
export function assertRate({ policy }: ActivePolicy, at = ''): void {
  if (policy.algorithm !== 'concurrency') return
  const message = `${show(policy.name)} limits requests in flight; use POST /api/v1/rate-limit/acquire.`
  throw badRequest(`${at}policy`, message)
}

export function findPolicy(
  { defaultPolicy, policies, byAlgorithm }: ActiveConfig,
  { algorithm, policy: name }: CheckInput,
  caller: Caller | null,
  at = '',
): ActivePolicy {
  if (algorithm !== undefined && name !== undefined) {
    throw badRequest(`${at}algorithm`, `Send either ${at}algorithm or ${at}policy, not both.`)
  }
  if (name !== undefined) {
    const activePolicy = policies.get(name)
    if (activePolicy === undefined) throw unknownPolicy(name, caller, at)
    return activePolicy
  }
  if (algorithm === undefined) return defaultPolicy
  const activePolicy = byAlgorithm.get(algorithm)
  if (activePolicy !== undefined) return activePolicy
  const choices = Object.keys(ALGORITHM_CHOICES).join(', ')
  throw badRequest(`${at}algorithm`, `${at}algorithm must be one of ${choices}, got ${show(algorithm)}.`)
}

/** The key of the input, or else the client's address. */
function keyOf(
  activeConfig: ActiveConfig,
  inputKey: string | undefined,
  { raw }: FastifyRequest,
  at: string,
): string {
  const key = inputKey ?? addressKey(clientAddress(activeConfig, raw))
  if (key === undefined)
    throw badRequest(`${at}key`, `${at}key is missing, and the client has no address; send a key.`)
  assertClientKey(key, at)
  const { keyPattern } = activeConfig.config
  if (keyPattern !== undefined && !keyPattern.test(key)) {
    const { source } = keyPattern
    const problem =
      inputKey === undefined
        ? `is missing, and the client's address does not match ${source}; send a key that does`
        : `must match ${source}, got ${show(key)}`
    throw badRequest(`${at}key`, `${at}key ${problem}.`)
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
export function assertCallerMay(
  { keyPrefix, policies }: Caller,
  key: string,
  { policy }: ActivePolicy,
  at = '',
): void {
  if (policies !== undefined && !policies.has(policy.name)) throw notForCaller('policy', policy.name, at)
  if (keyPrefix !== undefined && !key.startsWith(keyPrefix)) throw notForCaller('key', key, at)
}

function notForCaller(field: 'key' | 'policy', value: string, at: string): HttpError {
  return new HttpError(403, `This caller may not use the ${field} ${show(value)}.`, { field: at + field })
}

function unknownPolicy(name: string, caller: Caller | null, at: string): HttpError {
  // A caller with a list of policies must not learn which other policies exist.
  if (caller?.policies !== undefined) return notForCaller('policy', name, at)
  const message = `Unknown policy ${show(name)}; use a policy of the configuration, or a built-in one such as token_bucket.`
  // An invalid entry of a batch is 400 for the whole batch.
  return new HttpError(at === '' ? 404 : 400, message, { field: `${at}policy` })
}

function permitsError(permits: number, { policy }: ActivePolicy, at: string): HttpError {
  const field = `${at}permits`
  if (permits < 1) return badRequest(field, `${field} must be a whole number of at least 1, got ${permits}.`)
  return badRequest(
    field,
    `${field} must be at most ${policy.limit}, the limit of ${show(policy.name)}, got ${permits}.`,
  )
}
