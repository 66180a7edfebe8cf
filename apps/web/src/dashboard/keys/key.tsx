import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { usePage } from '../../page/page-context.js'
import type { Words } from '../../words/words.js'
import { poll } from '../service/poll.js'
import { type FailedRequest, request } from '../service/request.js'
import { useSession, WithSession } from '../session.js'
import { shownKey } from '../shown-key.js'
import { KeyCard } from './key-card.js'
import type { KeyState } from './key-state.js'

const POLL_MS = 2000

export function Key() {
  return (
    <WithSession>
      <KeyView />
    </WithSession>
  )
}

interface Lookup {
  readonly key: string
  readonly policies: readonly KeyState[]
}

interface CheckResult {
  readonly allowed: boolean
  readonly retryAfterSeconds: number | null
  /** Set if the check was decided without the store. */
  readonly degraded?: 'open' | 'closed' | 'local'
}

function checkText(
  { allowed, retryAfterSeconds, degraded }: CheckResult,
  words: Words['dashboard']['key'],
): string {
  if (degraded === 'closed') return words.deniedClosed
  if (!allowed) return words.denied((retryAfterSeconds ?? 1) * 1000)
  if (degraded === 'open') return words.allowedOpen
  return degraded === 'local' ? words.allowedLocal : words.allowedCounted
}

const isUsed = ({ resetAfterMs }: KeyState) => resetAfterMs > 0

function usedFirst({ policies }: Lookup): KeyState[] {
  return [...policies.filter(isUsed), ...policies.filter((state) => !isUsed(state))]
}

function inOrder(order: readonly KeyState[], { policies }: Lookup): KeyState[] {
  const places = new Map(order.map(({ policy }, i) => [policy, i]))
  const placeOf = ({ policy }: KeyState) => places.get(policy) ?? places.size
  return policies.toSorted((a, b) => placeOf(a) - placeOf(b))
}

function KeyView() {
  const page = usePage()
  const words = page.words.dashboard.key
  const session = useSession()
  const key = page.place.params.get('key') ?? ''
  const [found, setFound] = useState<Lookup>()
  const [problem, setProblem] = useState<string>()
  const [message, setMessage] = useState<{ text: string; isProblem: boolean }>()
  const [isConfirming, setConfirming] = useState(false)
  const resetButton = useRef<HTMLButtonElement>(null)

  async function lookUp(signal?: AbortSignal): Promise<void> {
    const result = await session.request<Lookup>(`api/v1/admin/keys?key=${encodeURIComponent(key)}`, {
      signal,
    })
    if (signal?.aborted) return
    if (result.kind !== 'ok') {
      return setProblem(result.kind === 'error' ? result.message : page.words.dashboard.gate.unreachable)
    }
    setProblem(undefined)
    const { body } = result
    // Keep the order of the first lookup, so that cards do not move while they are used.
    setFound((before) => ({ ...body, policies: inOrder(before?.policies ?? usedFirst(body), body) }))
  }
  function showFailure(result: FailedRequest): void {
    const reason =
      result.kind === 'unreachable'
        ? page.words.dashboard.gate.tryAgain
        : result.status === 503
          ? words.unavailable
          : result.message
    setMessage({ text: `${words.failed} ${reason}`, isProblem: true })
  }

  useEffect(() => {
    setFound(undefined)
    setProblem(undefined)
    setMessage(undefined)
    setConfirming(false)
    if (key === '') return
    return poll(lookUp, POLL_MS)
    // Another key or another token starts a new lookup.
  }, [key, session])

  async function check(policy: string): Promise<void> {
    // A batch of one, because a denial in a batch is not an error response. Not by the session, because a 401 of this
    // route must not lead to the token form.
    const { token } = session
    const options = { method: 'POST', body: { checks: [{ key, policy }] }, token } as const
    const result = await request<{ results: readonly CheckResult[] }>(
      'api/v1/rate-limit/check/batch',
      options,
    )
    if (result.kind !== 'ok') return showFailure(result)
    const [checked] = result.body.results
    if (checked === undefined) return
    setMessage({ text: `${policy}: ${checkText(checked, words)}`, isProblem: !checked.allowed })
    await lookUp()
  }

  /** Closes the dialog and returns the focus to the button that opened it. */
  function closeConfirm(): void {
    setConfirming(false)
    resetButton.current?.focus()
  }

  async function reset(): Promise<void> {
    closeConfirm()
    const used = found?.policies.filter(isUsed).length ?? 0
    const path = `api/v1/rate-limit/reset?key=${encodeURIComponent(key)}`
    const result = await session.request(path, { method: 'DELETE' })
    if (result.kind !== 'ok') return showFailure(result)
    setMessage({ text: words.resetDone(used), isProblem: false })
    await lookUp()
  }

  return (
    <div class="dashboard">
      <h1>{words.title}</h1>
      <p class="lead">{words.lead}</p>
      <KeyForm
        key={key}
        initial={key}
        onLookUp={(next) => {
          const params = new Map(page.place.params)
          params.set('key', next)
          page.go({ view: 'key', params })
        }}
      />
      {key === '' && <p class="note">{words.none}</p>}
      <p class={message?.isProblem ? 'message problem' : 'message'} role="status" data-fact="message">
        {message?.text}
      </p>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {found !== undefined && (
        <>
          <div class="key-head">
            <h2 class="key-name" data-fact="key">
              {shownKey(found.key)}
            </h2>
            <button
              type="button"
              class="danger"
              ref={resetButton}
              aria-expanded={isConfirming}
              onClick={() => setConfirming(true)}
            >
              {words.reset}
            </button>
          </div>
          {isConfirming && (
            <Confirm text={words.confirm(shownKey(found.key))} onYes={reset} onNo={closeConfirm} />
          )}
          <div class="key-cards">
            {found.policies.map((state) => (
              <KeyCard key={state.policy} state={state} onCheck={() => check(state.policy)} />
            ))}
          </div>
        </>
      )}
    </div>
  )
}

function KeyForm({ initial, onLookUp }: { initial: string; onLookUp: (key: string) => void }) {
  const words = usePage().words.dashboard.key
  const [text, setText] = useState(initial)
  return (
    <form
      class="key-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (text !== '') onLookUp(text)
      }}
    >
      <label class="field">
        <span>{words.label}</span>
        <input
          type="text"
          name="key"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={256}
          placeholder={words.placeholder}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="main">
        {words.lookUp}
      </button>
    </form>
  )
}

/** A confirmation with the focus on Cancel. Only when it opens: polling must not move the focus. */
function Confirm({ text, onYes, onNo }: { text: string; onYes: () => void; onNo: () => void }) {
  const words = usePage().words.dashboard.key
  const no = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => no.current?.focus(), [])
  return (
    <div
      class="card confirm"
      role="alertdialog"
      aria-label={text}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onNo()
      }}
    >
      <p>{text}</p>
      <button type="button" ref={no} onClick={onNo}>
        {words.confirmNo}
      </button>
      <button type="button" class="danger" onClick={onYes}>
        {words.confirmYes}
      </button>
    </div>
  )
}
