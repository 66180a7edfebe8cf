import { useState } from 'preact/hooks'
import { wholeNumber } from '../page/address.js'
import { NumberField } from '../page/number-field.js'
import { usePage } from '../page/page-context.js'
import { useParam } from '../page/use-param.js'
import { formatCount } from '../words/format.js'
import { storeName } from './service/store-name.js'
import { useSession, WithSession } from './session.js'

export function Race() {
  return (
    <WithSession>
      <RaceView />
    </WithSession>
  )
}

interface RaceRun {
  readonly admitted: number
  readonly tooMany: number
  readonly tookMs: number
}

interface Result {
  readonly callers: number
  readonly limit: number
  readonly store: string
  readonly pauseMs: number
  readonly naive: RaceRun
  readonly ours: RaceRun
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

  async function startRace(): Promise<void> {
    setRunning(true)
    setProblem(undefined)
    setResult(undefined)
    const response = await session.request<Result>('api/v1/admin/race', {
      method: 'POST',
      body: { callers, limit },
    })
    setRunning(false)
    if (response.kind === 'ok') setResult(response.body)
    else if (response.kind === 'unreachable') setProblem(all.dashboard.gate.tryAgain)
    else setProblem(response.status === 409 ? words.busy : response.message)
  }

  return (
    <div class="dashboard">
      <h1>{words.title}</h1>
      <p class="lead">{words.lead}</p>
      <form
        class="race-form"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isRunning) void startRace()
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
                run={result.naive}
                fact="naive"
              />
              <Lane
                title={words.tidegate}
                how={words.tidegateHow}
                result={result}
                run={result.ours}
                fact="tidegate"
              />
            </div>
            <p class="note">
              {result.pauseMs > 0
                ? words.onMemory(result.pauseMs)
                : words.onStore(storeName(result.store, all.dashboard))}
            </p>
          </>
        )}
      </div>
    </div>
  )
}

/** One mark per caller: admitted (filled dot), over the limit (filled square), denied (hollow dot). */
function Lane({
  title,
  how,
  result,
  run,
  fact,
}: {
  title: string
  how: string
  result: Result
  run: RaceRun
  fact: string
}) {
  const words = usePage().words.dashboard.race
  const { callers, limit } = result
  const isOver = run.tooMany > 0
  const tooFew = Math.max(0, Math.min(limit, callers) - run.admitted)
  return (
    <section class="card">
      <h2>{title}</h2>
      <p class={isOver ? 'race-count denied' : 'race-count'}>
        <b data-fact={`${fact}-admitted`}>{formatCount(run.admitted)}</b> {words.admitted}
        <small class="verdict" data-fact={`${fact}-over`}>
          {tooFew > 0 ? words.under(tooFew) : words.over(run.tooMany)}
        </small>
      </p>
      <div class="dots" aria-hidden="true">
        {Array.from({ length: callers }, (_, i) => (
          <i key={i} class={`dot ${i >= run.admitted ? '' : i < limit ? 'in' : 'over'}`} />
        ))}
      </div>
      <p class="note">{`${how} (${words.took(run.tookMs)})`}</p>
    </section>
  )
}
