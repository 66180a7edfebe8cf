/** Bounds of the size and the duration of one request, for the API and the gateway. */
export interface RequestLimits {
  readonly maxHeaderBytes: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly stopTimeoutMs: number
}
