import { STATUS_CODES } from 'node:http'

/** An error response. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  /** The invalid field, such as `permits` or `checks[3].key`. */
  readonly field: string | undefined
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(
    status: number,
    message: string,
    options: { field?: string | undefined; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.status = status
    this.field = options.field
    this.headers = options.headers
  }
}

/** Creates a 400. The message must say what to send instead. */
export function badRequest(field: string | undefined, message: string): HttpError {
  return new HttpError(400, message, { field })
}

export interface ErrorBody {
  readonly error: string
  readonly message: string
  readonly field?: string
}

/** `{"error": "bad_request", "message": "…", "field": "permits"}` */
export function errorBody({ status, message, field }: HttpError): ErrorBody {
  const error = titleOf(status).toLowerCase().replaceAll(' ', '_')
  return field === undefined ? { error, message } : { error, message, field }
}

/** The error as a problem document (RFC 9457), with the fields of `errorBody` as extensions. */
export function problemBody(error: HttpError, instance: string): object {
  return {
    type: 'about:blank',
    title: titleOf(error.status),
    status: error.status,
    detail: error.message,
    instance,
    ...errorBody(error),
  }
}

function titleOf(status: number): string {
  return STATUS_CODES[status] ?? 'Error'
}
