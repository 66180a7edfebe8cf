/** The result of a request: the body, an error response, or no response at all. */
export type RequestResult<T> =
  | { readonly kind: 'ok'; readonly body: T }
  | { readonly kind: 'error'; readonly status: number; readonly message: string }
  | { readonly kind: 'unreachable' }

export type FailedRequest = Exclude<RequestResult<unknown>, { kind: 'ok' }>

export interface ServiceRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly body?: unknown
  readonly token?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** No request of the page takes longer than a second. */
const TIMEOUT_MS = 5000

/** Sends a request relative to the page, which may be below a path of a reverse proxy. */
export function send(
  path: string,
  { method = 'GET', body, token, signal }: ServiceRequest,
): Promise<Response> {
  return fetch(`./${path}`, {
    method,
    cache: 'no-store',
    credentials: 'omit',
    headers: {
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
}

export async function request<T>(path: string, options: ServiceRequest = {}): Promise<RequestResult<T>> {
  try {
    const timeout = AbortSignal.timeout(TIMEOUT_MS)
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout])
    const response = await send(path, { ...options, signal })
    if (response.ok) return { kind: 'ok', body: (await response.json()) as T }
    return { kind: 'error', status: response.status, message: await messageOf(response) }
  } catch {
    return { kind: 'unreachable' }
  }
}

export async function messageOf(response: Response): Promise<string> {
  try {
    const { message } = (await response.json()) as { message?: unknown }
    return typeof message === 'string' ? message : response.statusText
  } catch {
    return response.statusText
  }
}
