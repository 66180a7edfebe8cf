/** A request as the codec decodes it: fields that were not sent have their defaults. */
export interface RateLimitRequest {
  readonly domain: string
  readonly descriptors: readonly RateLimitDescriptor[]
  readonly hitsAddend: number
}

export interface RateLimitDescriptor {
  readonly entries: readonly { readonly key: string; readonly value: string }[]
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: number } | null
  readonly hitsAddend?: { readonly value: number | { toNumber(): number } } | null
  readonly isNegativeHits?: boolean
}

export const CODE = { ok: 1, overLimit: 2 } as const

export interface RateLimitResponse {
  overallCode: number
  statuses: DescriptorStatus[]
  responseHeadersToAdd?: { key: string; value: string }[]
  dynamicMetadata?: StructMessage
}

export interface DescriptorStatus {
  code: number
  currentLimit?: { requestsPerUnit: number; unit: number; name?: string }
  limitRemaining: number
  durationUntilReset?: { seconds: number }
}

export interface StructMessage {
  readonly fields: Readonly<Record<string, ValueMessage>>
}

export type ValueMessage =
  | { readonly nullValue: 0 }
  | { readonly numberValue: number }
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly structValue: StructMessage }
  | { readonly listValue: { readonly values: readonly ValueMessage[] } }
