import { show } from '@tidegate/core'
import { UNITS, unitOf } from '../limits/unit.js'
import { RlsError } from './rls-error.js'
import {
  CODE,
  type RateLimitDescriptor,
  type RateLimitRequest,
  type RateLimitResponse,
  type StructMessage,
  type ValueMessage,
} from './rls-messages.js'

/* Requests and responses in the JSON mapping of protocol buffers. */

type Fields = Readonly<Record<string, unknown>>

const MAX_UINT32 = 4_294_967_295
const BODY = 'The body'

/** A request from JSON. Field names may be in camel case or as in the protocol. */
export function parseRequest(body: Buffer | undefined): RateLimitRequest {
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw invalid(
      'The body must be JSON, such as {"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"bob"}]}]}',
    )
  }
  const fields = fieldsOf(json, BODY, ['domain', 'descriptors', 'hitsAddend'])
  return {
    domain: textOf(fields.domain, 'domain'),
    descriptors: listOf(fields.descriptors, 'descriptors').map(descriptorOf),
    hitsAddend: wholeOf(fields.hitsAddend ?? 0, 'hitsAddend', MAX_UINT32),
  }
}

function descriptorOf(json: unknown, i: number): RateLimitDescriptor {
  const at = `descriptors[${i}]`
  const fields = fieldsOf(json, at, ['entries', 'limit', 'hitsAddend', 'isNegativeHits'])
  const { limit, hitsAddend, isNegativeHits = false } = fields
  if (typeof isNegativeHits !== 'boolean')
    throw invalid(`${at}.isNegativeHits must be true or false, got ${show(isNegativeHits)}`)
  return {
    entries: listOf(fields.entries, `${at}.entries`).map((entry, j) => {
      const { key, value } = fieldsOf(entry, `${at}.entries[${j}]`, ['key', 'value'])
      return {
        key: textOf(key, `${at}.entries[${j}].key`),
        value: textOf(value, `${at}.entries[${j}].value`),
      }
    }),
    limit: limit === undefined || limit === null ? null : overrideOf(limit, `${at}.limit`),
    hitsAddend:
      hitsAddend === undefined || hitsAddend === null
        ? null
        : { value: wholeOf(hitsAddend, `${at}.hitsAddend`) },
    isNegativeHits,
  }
}

function overrideOf(json: unknown, at: string) {
  const fields = fieldsOf(json, at, ['requestsPerUnit', 'unit'])
  const { unit = 0 } = fields
  const number = typeof unit === 'string' ? UNITS[unit.toLowerCase()]?.number : unit
  if (typeof number !== 'number')
    throw invalid(
      `${at}.unit must be one of ${Object.keys(UNITS).join(', ').toUpperCase()}, got ${show(unit)}`,
    )
  return {
    requestsPerUnit: wholeOf(fields.requestsPerUnit ?? 0, `${at}.requestsPerUnit`, MAX_UINT32),
    unit: number,
  }
}

/** The fields of an object under their names in camel case. */
function fieldsOf(json: unknown, at: string, names: readonly string[]): Fields {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw invalid(`${at} must be an object, got ${show(json)}`)
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(json)) {
    const camelCase = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    if (!names.includes(camelCase))
      throw invalid(`Unknown field ${show(name)} in ${fieldPlace(at)}; the fields are ${names.join(', ')}`)
    fields[camelCase] = value
  }
  return fields
}

function textOf(value: unknown, at: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  throw invalid(`${at} must be a string, got ${show(value)}`)
}

function listOf(value: unknown, at: string): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw invalid(`${at} must be a list, got ${show(value)}`)
}

/** Reads a number, or a string of digits, as the JSON mapping writes numbers of 64 bits. */
function wholeOf(value: unknown, at: string, max?: number): number {
  const number = typeof value === 'string' && /^\d{1,20}$/.test(value) ? Number(value) : value
  const isInRange = typeof number === 'number' && number >= 0 && number <= (max ?? Number.MAX_VALUE)
  if (isInRange && Number.isInteger(number)) return number
  const range = max === undefined ? 'of at least 0' : `from 0 to ${max.toLocaleString('en')}`
  throw invalid(`${at} must be a whole number ${range}, got ${show(value)}`)
}

function fieldPlace(at: string): string {
  return at === BODY ? 'the body' : at
}

function invalid(message: string): RlsError {
  return new RlsError('invalid', `${message}.`)
}

export function jsonOf(response: RateLimitResponse): object {
  const { overallCode, statuses, responseHeadersToAdd, dynamicMetadata } = response
  return {
    overallCode: codeName(overallCode),
    statuses: statuses.map(({ code, currentLimit, limitRemaining, durationUntilReset }) => ({
      code: codeName(code),
      ...(currentLimit && {
        currentLimit: {
          ...(currentLimit.name === undefined ? {} : { name: currentLimit.name }),
          requestsPerUnit: currentLimit.requestsPerUnit,
          unit: unitOf(currentLimit.unit)?.toUpperCase() ?? 'UNKNOWN',
        },
      }),
      limitRemaining,
      ...(durationUntilReset && { durationUntilReset: `${durationUntilReset.seconds}s` }),
    })),
    ...(responseHeadersToAdd && { responseHeadersToAdd }),
    ...(dynamicMetadata && { dynamicMetadata: jsonObjectOf(dynamicMetadata) }),
  }
}

function codeName(code: number): string {
  return code === CODE.overLimit ? 'OVER_LIMIT' : 'OK'
}

function jsonObjectOf({ fields }: StructMessage): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, jsonValueOf(value)]))
}

function jsonValueOf(value: ValueMessage): unknown {
  if ('structValue' in value) return jsonObjectOf(value.structValue)
  if ('listValue' in value) return value.listValue.values.map(jsonValueOf)
  return 'nullValue' in value ? null : Object.values(value)[0]
}
