/** What came of a question to the service. */
export type Answer<T> =
  | { readonly kind: 'ok'; readonly body: T }
  | { readonly kind: 'refused'; readonly status: number; readonly message: string }
  | { readonly kind: 'unreachable' }

export interface Question {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly body?: unknown
  readonly token?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** By then an answer would have come: nothing that is asked here takes a second. */
const TIMEOUT_MS = 5000

/** Where the service is: where the page came from, which may be below a path of somebody's proxy. */
export function send(path: string, { method = 'GET', body, token, signal }: Question): Promise<Response> {
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

export async function ask<T>(path: string, question: Question = {}): Promise<Answer<T>> {
  try {
    const timeout = AbortSignal.timeout(TIMEOUT_MS)
    const signal = question.signal === undefined ? timeout : AbortSignal.any([question.signal, timeout])
    const response = await send(path, { ...question, signal })
    if (response.ok) return { kind: 'ok', body: (await response.json()) as T }
    return { kind: 'refused', status: response.status, message: await messageOf(response) }
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
