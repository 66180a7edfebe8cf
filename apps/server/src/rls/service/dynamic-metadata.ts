import { unitOf } from '../limits/unit.js'
import type { RateLimitRequest, StructMessage, ValueMessage } from './rls-messages.js'

type Metadata = Readonly<Record<string, unknown>>

/** The dynamic metadata of a response: the request, and the metadata of the descriptors that passed. */
export function dynamicMetadata(
  request: RateLimitRequest,
  passedMetadata: readonly Metadata[],
): StructMessage {
  const metadata = passedMetadata.reduce<Metadata>(merge, {})
  return structOf({
    domain: request.domain,
    descriptors: request.descriptors.map(({ entries, limit, hitsAddend }) => ({
      entries: entries.map(({ key, value }) => `${key}=${value}`),
      ...(limit ? { limit: overrideText(limit) } : {}),
      ...(hitsAddend ? { hitsAddend: Number(hitsAddend.value) } : {}),
    })),
    ...(request.hitsAddend === 0 ? {} : { hitsAddend: request.hitsAddend }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  })
}

function overrideText({ requestsPerUnit, unit }: { requestsPerUnit: number; unit: number }): string {
  return `requests_per_unit:${requestsPerUnit} unit:${unitOf(unit)?.toUpperCase() ?? unit}`
}

/** Merges objects recursively. For other values, the first one takes precedence. */
function merge(first: Metadata, second: Metadata): Metadata {
  const merged: Record<string, unknown> = { ...first }
  for (const [name, value] of Object.entries(second)) {
    const mergedValue = merged[name]
    if (mergedValue === undefined) merged[name] = value
    else if (isObject(mergedValue) && isObject(value)) merged[name] = merge(mergedValue, value)
  }
  return merged
}

function structOf(object: Metadata): StructMessage {
  return {
    fields: Object.fromEntries(Object.entries(object).map(([name, value]) => [name, messageOf(value)])),
  }
}

function messageOf(value: unknown): ValueMessage {
  if (typeof value === 'number') return { numberValue: value }
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (Array.isArray(value)) return { listValue: { values: value.map(messageOf) } }
  return isObject(value) ? { structValue: structOf(value) } : { nullValue: 0 }
}

function isObject(value: unknown): value is Metadata {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
