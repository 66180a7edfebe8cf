import { wholeNumber } from '../../page/address.js'
import { usePage } from '../../page/page-context.js'
import { type Choice, readChoice, readUse, USES } from './choice.js'
import { ChoiceFields, MAX_KEYS } from './choice-fields.js'
import { QUESTIONS, readAnswers, writeAnswers } from './decision-tree.js'
import { inCompare } from './in-compare.js'
import { Snippets } from './snippets-view.js'

/** A few questions, then a policy to copy. */
export function Choose() {
  const { words, place, go } = usePage()
  const { params } = place
  const use = readUse(params)
  const choice = readChoice(params)
  const change = (changes: Record<string, string>, how?: { readonly edit: string }) =>
    go({ view: 'choose', params: new Map([...params, ...Object.entries(changes)]) }, how)
  const chooseUse = (next: string) => {
    // The numbers of another use would not fit.
    const kept = [...params].filter(([name]) => name === 'lang' || name === 'keys')
    go({ view: 'choose', params: new Map(next === 'requests' ? kept : [...kept, ['for', next]]) })
  }
  return (
    <div class="view choose">
      <h1>{words.choose.title}</h1>
      <p class="lead">{words.choose.lead}</p>
      <ol class="questions">
        <li>
          <fieldset>
            <legend>{words.choose.use}</legend>
            <p class="note">{words.choose.uses[use].examples}</p>
            <div class="segments">
              {USES.map((each) => (
                <label key={each}>
                  <input type="radio" name="for" checked={each === use} onChange={() => chooseUse(each)} />
                  <span>{words.choose.uses[each].text}</span>
                </label>
              ))}
            </div>
          </fieldset>
        </li>
        {use === 'requests' && <Questions isDecided={choice !== undefined} change={change} />}
      </ol>
      {choice !== undefined && <Result choice={choice} change={change} />}
    </div>
  )
}

/** The questions that lead to an algorithm, up to the first that is not answered. */
function Questions({
  isDecided,
  change,
}: {
  isDecided: boolean
  change: (changes: Record<string, string>) => void
}) {
  const { words, place } = usePage()
  const answers = readAnswers(place.params.get('answers'))
  const answer = (index: number, isYes: boolean) =>
    change({ answers: writeAnswers([...answers.slice(0, index), isYes]) })
  return QUESTIONS.slice(0, isDecided ? answers.length : answers.length + 1).map(({ id }, i) => (
    <li key={id}>
      <fieldset>
        <legend>{words.choose.questions[id].text}</legend>
        <p class="note">{words.choose.questions[id].examples}</p>
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
  ))
}

function Result({
  choice,
  change,
}: {
  choice: Choice
  change: (changes: Record<string, string>, how?: { readonly edit: string }) => void
}) {
  const { words, place, linkTo } = usePage()
  const { use, algorithm } = choice
  const shown = inCompare(choice)
  const keys = wholeNumber(place.params.get('keys'), 1, MAX_KEYS, 10_000)
  const reason = use === 'requests' || use === 'in-flight' ? algorithm : use
  return (
    <section class="result" aria-label={words.choose.result} data-algorithm={algorithm}>
      <h2>
        <i class={`swatch ${algorithm}`} aria-hidden="true" />
        {words.algorithms[algorithm]}
      </h2>
      <p>{words.choose.because[reason]}</p>
      {shown !== undefined && (
        <p>
          <a href={linkTo('compare', shown)}>{words.choose.tryIt}</a>
        </p>
      )}
      <ChoiceFields choice={choice} keys={keys} change={change} />
      <Snippets choice={choice} keys={keys} />
    </section>
  )
}
