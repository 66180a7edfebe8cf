import { useRef, useState } from 'preact/hooks'
import { oneOf, wholeNumber } from '../address.js'
import { formatBytes, formatCount } from '../format.js'
import { usePage } from '../page-context.js'
import { type Choice, curlOf, typescriptOf, yamlOf } from './choice.js'
import { WINDOWS } from './compare-settings.js'
import { algorithmFor, QUESTIONS, readAnswers, writeAnswers } from './decision-tree.js'
import { memoryFor } from './memory.js'
import { NumberField } from './number-field.js'

const MAX_LIMIT = 100_000
const MAX_KEYS = 100_000_000

/** A few questions, and then a policy to take away. */
export function Choose() {
  const { words, place, go } = usePage()
  const { params } = place
  const answers = readAnswers(params.get('answers'))
  const algorithm = algorithmFor(answers)
  const limit = wholeNumber(params.get('limit'), 1, MAX_LIMIT, 100)
  const window = oneOf(params.get('window'), WINDOWS, '1m')
  const capacity = wholeNumber(params.get('capacity'), 1, MAX_LIMIT, limit)
  const keys = wholeNumber(params.get('keys'), 1, MAX_KEYS, 10_000)

  const change = (changes: Record<string, string>) =>
    go({ view: 'choose', params: new Map([...params, ...Object.entries(changes)]) })
  const answer = (index: number, isYes: boolean) =>
    change({ answers: writeAnswers([...answers.slice(0, index), isYes]) })

  const asked = QUESTIONS.slice(0, algorithm === undefined ? answers.length + 1 : answers.length)
  return (
    <div class="view choose">
      <h1>{words.choose.title}</h1>
      <p class="lead">{words.choose.lead}</p>
      <ol class="questions">
        {asked.map(({ id }, i) => (
          <li key={id}>
            <fieldset>
              <legend>{words.choose.questions[id].ask}</legend>
              <p class="note">{words.choose.questions[id].why}</p>
              <div class="segments">
                {[true, false].map((isYes) => (
                  <label key={String(isYes)}>
                    <input
                      type="radio"
                      name={id}
                      checked={answers[i] === isYes}
                      onChange={() => answer(i, isYes)}
                    />
                    <span>{isYes ? words.choose.yes : words.choose.no}</span>
                  </label>
                ))}
              </div>
            </fieldset>
          </li>
        ))}
      </ol>
      {algorithm !== undefined && (
        <section class="result" aria-label={words.choose.result} data-algorithm={algorithm}>
          <h2>
            <i class={`swatch ${algorithm}`} aria-hidden="true" />
            {words.algorithms[algorithm]}
          </h2>
          <p>{words.choose.because[algorithm]}</p>
          <div class="fields">
            <NumberField
              label={words.compare.numbers.limit}
              value={limit}
              min={1}
              max={MAX_LIMIT}
              onChange={(value) => change({ limit: String(value) })}
            />
            <label class="field">
              <span>{words.compare.window}</span>
              <select value={window} onChange={(event) => change({ window: event.currentTarget.value })}>
                {WINDOWS.map((each) => (
                  <option key={each} value={each}>
                    {words.compare.windows[each]}
                  </option>
                ))}
              </select>
            </label>
            {(algorithm === 'token-bucket' || algorithm === 'leaky-bucket') && (
              <NumberField
                label={words.compare.numbers.capacity}
                value={capacity}
                min={1}
                max={MAX_LIMIT}
                onChange={(value) => change({ capacity: String(value) })}
              />
            )}
            <NumberField
              label={words.choose.keys}
              value={keys}
              min={1}
              max={MAX_KEYS}
              onChange={(value) => change({ keys: String(value) })}
            />
          </div>
          <Texts choice={{ algorithm, limit, window, capacity }} keys={keys} />
        </section>
      )}
    </div>
  )
}

function Texts({ choice, keys }: { choice: Choice; keys: number }) {
  const { words } = usePage()
  const { processBytes, redisBytes } = memoryFor(choice.algorithm, choice.limit, keys)
  return (
    <div class="texts">
      <Code title="YAML" note={words.choose.yamlNote} text={yamlOf(choice)} />
      <Code title="TypeScript" note={words.choose.typescriptNote} text={typescriptOf(choice)} />
      <Code title="curl" note={words.choose.curlNote} text={curlOf()} />
      <section>
        <h3>{words.choose.memory}</h3>
        <dl>
          <dt>{words.choose.inProcess}</dt>
          <dd data-fact="process">{formatBytes(processBytes)}</dd>
          <dt>{words.choose.inRedis}</dt>
          <dd data-fact="redis">{formatBytes(redisBytes)}</dd>
        </dl>
        <p class="note">{words.choose.memoryNote(formatCount(keys))}</p>
      </section>
    </div>
  )
}

function Code({ title, note, text }: { title: string; note: string; text: string }) {
  const { words } = usePage()
  const [isCopied, setCopied] = useState(false)
  const code = useRef<HTMLElement>(null)
  const copy = async () => {
    if (!(await copyText(text, code.current))) return
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <section>
      <h3>{title}</h3>
      <p class="note">{note}</p>
      <div class="code">
        <pre>
          <code ref={code} data-code={title}>
            {text}
          </code>
        </pre>
        <button
          type="button"
          class="quiet"
          onClick={copy}
          aria-label={isCopied ? words.choose.copied : words.choose.copyWhat(title)}
        >
          {isCopied ? words.choose.copied : words.choose.copy}
        </button>
      </div>
    </section>
  )
}

/**
 * Whether it is copied. A page that came by plain HTTP from another machine has no clipboard, and not every browser lets
 * others write there: then the text is selected, and copied from there, or by the visitor.
 */
async function copyText(text: string, shown: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    if (shown !== null) getSelection()?.selectAllChildren(shown)
    return document.execCommand('copy')
  }
}
