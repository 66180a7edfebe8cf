import { STATUS_CODES } from 'node:http'

/** What an answer other than the one that was asked for says. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** The field that is wrong, such as `permits` or `checks[3].key`, where there is one. */
  readonly field: string | undefined
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(
    status: number,
    message: string,
    more: { field?: string | undefined; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.status = status
    this.field = more.field
    this.headers = more.headers
  }
}

/** 400: something in the request can never be right. The message says what to send instead. */
export function badRequest(field: string | undefined, message: string): ApiError {
  return new ApiError(400, message, { field })
}

export interface ErrorBody {
  readonly error: string
  readonly message: string
  readonly field?: string
}

/** `{"error": "bad_request", "message": "…", "field": "permits"}` */
export function errorBody({ status, message, field }: ApiError): ErrorBody {
  const error = titleOf(status).toLowerCase().replaceAll(' ', '_')
  return field === undefined ? { error, message } : { error, message, field }
}

/** The same as RFC 9457 writes it, with ours as its extensions. */
export function problemBody(error: ApiError, instance: string): object {
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
