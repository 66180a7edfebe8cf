import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { usePage } from '../page-context.js'
import { type Answer, ask, type Question } from './ask.js'
import { forgetHistory } from './live-source.js'
import { readToken, writeToken } from './token.js'

/** Access to the service with the token of this tab. */
export interface Session {
  readonly token: string | undefined
  readonly storeKind: string
  /** As `ask`, with the token. A 401 or 403 response leads back to the token form. */
  ask<T>(path: string, question?: Question): Promise<Answer<T>>
  /** Reports a 401 or 403 response of the service. */
  refused(status: number): void
}

const Context = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(Context)
  if (session === undefined) throw new Error('used outside of a session')
  return session
}

interface Info {
  readonly store: { readonly kind: string }
}

const RETRY_MS = 2000

/** Shows its children to administrators, and a form for the token to others. */
export function WithSession({ children }: { children: ComponentChildren }) {
  const words = usePage().words.dashboard.gate
  const [info, setInfo] = useState<Info>()
  const [isUnreachable, setUnreachable] = useState(false)
  const [token, setToken] = useState(readToken)
  const [status, setStatus] = useState<number>()

  useEffect(() => {
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = async () => {
      const answer = await ask<Info>('actuator/info', { signal: leaving.signal })
      if (leaving.signal.aborted) return
      setUnreachable(answer.kind !== 'ok')
      if (answer.kind === 'ok') setInfo(answer.body)
      else timer = setTimeout(look, RETRY_MS)
    }
    void look()
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, [])

  const change = (next: string | undefined) => {
    writeToken(next)
    forgetHistory()
    setStatus(undefined)
    setToken(next)
  }
  const storeKind = info?.store.kind ?? ''
  const session = useMemo((): Session => {
    const refused = (status: number) => {
      if (status === 401 || status === 403) setStatus(status)
    }
    return {
      token,
      storeKind,
      refused,
      async ask(path, question) {
        const answer = await ask<never>(path, { ...question, token })
        if (answer.kind === 'refused') refused(answer.status)
        return answer
      },
    }
  }, [token, storeKind])

  if (info === undefined) {
    return <p class="lead waiting">{isUnreachable ? words.unreachable : words.loading}</p>
  }
  if (status === 403) return <p class="lead waiting">{words.notHere}</p>
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
      class="card door"
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
