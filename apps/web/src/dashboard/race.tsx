import { useState } from 'preact/hooks'
import { wholeNumber } from '../address.js'
import { formatCount } from '../format.js'
import { NumberField } from '../lab/number-field.js'
import { usePage } from '../page-context.js'
import { useParam } from '../use-param.js'
import { useSession, WithSession } from './session.js'

export function Race() {
  return (
    <WithSession>
      <RaceView />
    </WithSession>
  )
}

interface Finish {
  readonly admitted: number
  readonly tooMany: number
  readonly tookMs: number
}

interface Result {
  readonly callers: number
  readonly limit: number
  readonly store: string
  readonly pauseMs: number
  readonly naive: Finish
  readonly ours: Finish
}

function RaceView() {
  const { words: all } = usePage()
  const words = all.dashboard.race
  const session = useSession()
  const [callersText, setCallers] = useParam('callers')
  const [limitText, setLimit] = useParam('limit')
  const callers = wholeNumber(callersText, 2, 200, 50)
  const limit = wholeNumber(limitText, 1, 100, 10)
  const [isRunning, setRunning] = useState(false)
  const [result, setResult] = useState<Result>()
  const [problem, setProblem] = useState<string>()

  async function run(): Promise<void> {
    setRunning(true)
    setProblem(undefined)
    setResult(undefined)
    const answer = await session.ask<Result>('api/v1/admin/race', {
      method: 'POST',
      body: { callers, limit },
    })
    setRunning(false)
    if (answer.kind === 'ok') setResult(answer.body)
    else if (answer.kind === 'unreachable') setProblem(all.dashboard.gate.tryAgain)
    else setProblem(answer.status === 409 ? words.busy : answer.message)
  }

  return (
    <div class="dashboard">
      <h1>{words.title}</h1>
      <p class="lead">{words.lead}</p>
      <form
        class="race-form"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isRunning) void run()
        }}
      >
        <NumberField
          label={words.callers}
          value={callers}
          min={2}
          max={200}
          onChange={(value) => setCallers(String(value))}
        />
        <NumberField
          label={words.limit}
          value={limit}
          min={1}
          max={100}
          onChange={(value) => setLimit(String(value))}
        />
        <button type="submit" class="main" aria-disabled={isRunning}>
          {isRunning ? words.running : words.start}
        </button>
      </form>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div role="status">
        {result !== undefined && (
          <>
            <div class="two">
              <Lane
                title={words.naive}
                how={words.naiveHow}
                result={result}
                finish={result.naive}
                fact="naive"
              />
              <Lane title={words.ours} how={words.oursHow} result={result} finish={result.ours} fact="ours" />
            </div>
            <p class="note">
              {result.pauseMs > 0 ? words.onMemory(result.pauseMs) : words.onStore(result.store)}
            </p>
          </>
        )}
      </div>
    </div>
  )
}

/** One dot for each caller: admitted, admitted though it should not be, refused. */
function Lane({
  title,
  how,
  result,
  finish,
  fact,
}: {
  title: string
  how: string
  result: Result
  finish: Finish
  fact: string
}) {
  const words = usePage().words.dashboard.race
  const { callers, limit } = result
  const isOver = finish.tooMany > 0
  const tooFew = Math.max(0, Math.min(limit, callers) - finish.admitted)
  return (
    <section class="card">
      <h2>{title}</h2>
      <p class={isOver ? 'race-count refused' : 'race-count'}>
        <b data-fact={`${fact}-admitted`}>{formatCount(finish.admitted)}</b> {words.admitted}
        <small class="verdict" data-fact={`${fact}-over`}>
          {tooFew > 0 ? words.under(tooFew) : words.over(finish.tooMany)}
        </small>
      </p>
      <div class="dots" aria-hidden="true">
        {Array.from({ length: callers }, (_, i) => (
          <i key={i} class={`dot ${i >= finish.admitted ? '' : i < limit ? 'in' : 'over'}`} />
        ))}
      </div>
      <p class="note">{`${how} (${words.tookMs(finish.tookMs)})`}</p>
    </section>
  )
}
