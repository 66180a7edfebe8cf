/** An error with a message for the client. */
export class RlsError extends Error {
  readonly kind: 'invalid' | 'unavailable'

  constructor(kind: RlsError['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}
