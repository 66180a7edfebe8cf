import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { usePage } from '../page/page-context.js'
import { clearHistory } from './service/live-source.js'
import { type RequestResult, request, type ServiceRequest } from './service/request.js'
import { readToken, writeToken } from './service/token.js'

/** Access to the service with the token of this tab. */
export interface Session {
  readonly token: string | undefined
  readonly storeKind: string
  /** Sends a request with the token. A 401 or 403 response leads back to the token form. */
  request<T>(path: string, options?: ServiceRequest): Promise<RequestResult<T>>
  /** Leads back to the token form if `status` is 401 or 403. */
  onUnauthorized(status: number): void
}

const Context = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(Context)
  if (session === undefined) throw new Error('useSession must be used inside WithSession')
  return session
}

interface Info {
  readonly store: { readonly kind: string }
}

const RETRY_MS = 2000

/** Shows its children if there is an admin token, else a form for the token. */
export function WithSession({ children }: { children: ComponentChildren }) {
  const words = usePage().words.dashboard.gate
  const [info, setInfo] = useState<Info>()
  const [isUnreachable, setUnreachable] = useState(false)
  const [token, setToken] = useState(readToken)
  const [status, setStatus] = useState<number>()

  useEffect(() => {
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const load = async () => {
      const result = await request<Info>('actuator/info', { signal: leaving.signal })
      if (leaving.signal.aborted) return
      setUnreachable(result.kind !== 'ok')
      if (result.kind === 'ok') setInfo(result.body)
      else timer = setTimeout(load, RETRY_MS)
    }
    void load()
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, [])

  const change = (next: string | undefined) => {
    writeToken(next)
    clearHistory()
    setStatus(undefined)
    setToken(next)
  }
  const storeKind = info?.store.kind ?? ''
  const session = useMemo((): Session => {
    const onUnauthorized = (status: number) => {
      if (status === 401 || status === 403) setStatus(status)
    }
    return {
      token,
      storeKind,
      onUnauthorized,
      async request(path, options) {
        const result = await request<never>(path, { ...options, token })
        if (result.kind === 'error') onUnauthorized(result.status)
        return result
      },
    }
  }, [token, storeKind])

  if (info === undefined) {
    return <p class="lead waiting">{isUnreachable ? words.unreachable : words.loading}</p>
  }
  if (status === 403) return <p class="lead waiting">{words.hostNotAllowed}</p>
  if (status === 401 || token === undefined) {
    return <TokenForm wasWrong={status === 401 && token !== undefined} onToken={change} />
  }
  return (
    <Context.Provider value={session}>
      {children}
      <p class="note forget">
        <button type="button" class="quiet" onClick={() => change(undefined)}>
          {words.forget}
        </button>
      </p>
    </Context.Provider>
  )
}

function TokenForm({ wasWrong, onToken }: { wasWrong: boolean; onToken: (token: string) => void }) {
  const words = usePage().words.dashboard.gate
  const [text, setText] = useState('')
  const [isWrong, setWrong] = useState(wasWrong)
  const input = useRef<HTMLInputElement>(null)
  // After a wrong token the form is a new element, so it has lost the focus.
  useLayoutEffect(() => {
    if (isWrong) input.current?.focus()
  }, [isWrong])
  return (
    <form
      class="card token-form"
      onSubmit={(event) => {
        event.preventDefault()
        // A header accepts visible ASCII characters only.
        const token = text.trim()
        if (/^[!-~]+$/.test(token)) onToken(token)
        else setWrong(true)
      }}
    >
      <h1>{words.title}</h1>
      <p class="lead">{words.lead}</p>
      <label class="field">
        <span>{words.token}</span>
        <input
          ref={input}
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={text}
          aria-invalid={isWrong}
          aria-describedby="token-note"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <p id="token-note" class={isWrong ? 'problem' : 'note'} role={isWrong ? 'alert' : undefined}>
        {isWrong ? words.wrong : words.kept}
      </p>
      <button type="submit" class="main">
        {words.enter}
      </button>
    </form>
  )
}
