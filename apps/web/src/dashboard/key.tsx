import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { formatDuration } from '../format.js'
import { usePage } from '../page-context.js'
import type { Words } from '../words/words.js'
import { type Answer, ask } from './ask.js'
import { keepLooking } from './keep-looking.js'
import { KeyCard } from './key-card.js'
import type { KeyState } from './key-state.js'
import { useSession, WithSession } from './session.js'
import { shownKey } from './shown-key.js'

/** How often what is shown is asked for anew. */
const LOOK_EVERY_MS = 2000

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

type Failed = Exclude<Answer<unknown>, { kind: 'ok' }>

interface Tried {
  readonly allowed: boolean
  readonly retryAfterSeconds: number | null
  /** Decided without the store, which did not answer. */
  readonly degraded?: 'open' | 'closed' | 'local'
}

function triedText(
  { allowed, retryAfterSeconds, degraded }: Tried,
  words: Words['dashboard']['key'],
): string {
  if (degraded === 'closed') return words.triedClosed
  if (!allowed) return words.triedRefused(formatDuration((retryAfterSeconds ?? 1) * 1000))
  if (degraded === 'open') return words.triedOpen
  return degraded === 'local' ? words.triedLocal : words.triedAllowed
}

function touchedFirst({ policies }: Lookup): KeyState[] {
  const isTouched = ({ resetAfterMs }: KeyState) => resetAfterMs > 0
  return [...policies.filter(isTouched), ...policies.filter((state) => !isTouched(state))]
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
  const [says, setSays] = useState<{ text: string; isProblem: boolean }>()
  const [isAsking, setAsking] = useState(false)
  const resetButton = useRef<HTMLButtonElement>(null)

  async function look(signal?: AbortSignal): Promise<void> {
    const answer = await session.ask<Lookup>(`api/v1/admin/keys?key=${encodeURIComponent(key)}`, { signal })
    if (signal?.aborted) return
    if (answer.kind !== 'ok') {
      return setProblem(answer.kind === 'refused' ? answer.message : page.words.dashboard.gate.unreachable)
    }
    setProblem(undefined)
    const { body } = answer
    // As they were when it was first looked up: a card that is being tried should not move.
    setFound((before) => ({ ...body, policies: inOrder(before?.policies ?? touchedFirst(body), body) }))
  }
  function tellProblem(answer: Failed): void {
    const why = answer.kind === 'refused' ? answer.message : page.words.dashboard.gate.tryAgain
    setSays({ text: `${words.failed} ${why}`, isProblem: true })
  }

  useEffect(() => {
    setFound(undefined)
    setProblem(undefined)
    setSays(undefined)
    setAsking(false)
    if (key === '') return
    return keepLooking(look, LOOK_EVERY_MS)
    // Another key or another token is another lookup
  }, [key, session])

  async function tryIn(policy: string): Promise<void> {
    // A batch of one: it is an ordinary check, but a refusal in it is no failed request. Not by the session: where the
    // file has callers, an administrator without a token may do everything else, and is at no door.
    const { token } = session
    const question = { method: 'POST', body: { checks: [{ key, policy }] }, token } as const
    const answer = await ask<{ results: readonly Tried[] }>('api/v1/rate-limit/check/batch', question)
    if (answer.kind !== 'ok') return tellProblem(answer)
    const [tried] = answer.body.results
    if (tried === undefined) return
    setSays({ text: `${policy}: ${triedText(tried, words)}`, isProblem: !tried.allowed })
    await look()
  }

  /** What had the focus is gone with the question: whoever uses the keyboard goes on where it was asked. */
  function stopAsking(): void {
    setAsking(false)
    resetButton.current?.focus()
  }

  async function reset(): Promise<void> {
    stopAsking()
    const answer = await session.ask<{ policies: readonly string[] }>(
      `api/v1/rate-limit/reset?key=${encodeURIComponent(key)}`,
      { method: 'DELETE' },
    )
    if (answer.kind !== 'ok') return tellProblem(answer)
    setSays({ text: words.resetDone(answer.body.policies.length), isProblem: false })
    await look()
  }

  return (
    <div class="dashboard">
      <h1>{words.title}</h1>
      <p class="lead">{words.lead}</p>
      <KeyForm
        key={key}
        initial={key}
        onLook={(next) => {
          const params = new Map(page.place.params)
          params.set('key', next)
          page.go({ view: 'key', params })
        }}
      />
      <p class={says?.isProblem ? 'says problem' : 'says'} role="status" data-fact="says">
        {says?.text}
      </p>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {key === '' && <p class="note">{words.none}</p>}
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
              aria-expanded={isAsking}
              onClick={() => setAsking(true)}
            >
              {words.reset}
            </button>
          </div>
          {isAsking && <Confirm text={words.confirm(shownKey(found.key))} onYes={reset} onNo={stopAsking} />}
          <div class="key-cards">
            {found.policies.map((state) => (
              <KeyCard key={state.policy} state={state} onTry={() => tryIn(state.policy)} />
            ))}
          </div>
        </>
      )}
    </div>
  )
}

function KeyForm({ initial, onLook }: { initial: string; onLook: (key: string) => void }) {
  const words = usePage().words.dashboard.key
  const [text, setText] = useState(initial)
  return (
    <form
      class="key-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (text !== '') onLook(text)
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
        {words.look}
      </button>
    </form>
  )
}

/** Asks first. The careful answer has the focus at first, and not again with every look at the key. */
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
