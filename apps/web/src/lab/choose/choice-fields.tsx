import { CheckField } from '../../page/check-field.js'
import { ChoiceField } from '../../page/choice-field.js'
import { NumberField } from '../../page/number-field.js'
import { usePage } from '../../page/page-context.js'
import { isCalendarUnit } from '../../simulation/windows.js'
import { TimeZoneField } from '../time-zone-field.js'
import { BLOCKS, type Choice, canBlock, canCountDenied, isBucket, TTLS, USE_SETTINGS } from './choice.js'

export const MAX_KEYS = 100_000_000

/** The numbers of the recommended policy. */
export function ChoiceFields({
  choice,
  keys,
  change,
}: {
  choice: Choice
  keys: number
  change: (changes: Record<string, string>, how?: { readonly edit: string }) => void
}) {
  const { words } = usePage()
  const { maxLimit, windows } = USE_SETTINGS[choice.use]
  const number = (name: 'limit' | 'capacity' | 'keys', label: string, value: number, max: number) => (
    <NumberField
      label={label}
      value={value}
      min={1}
      max={max}
      onChange={(next) => change({ [name]: String(next) }, { edit: name })}
    />
  )
  return (
    <div class="fields">
      {number('limit', words.compare.numbers.limit, choice.limit, maxLimit)}
      {windows.length > 0 && (
        <ChoiceField
          label={words.compare.window}
          value={choice.window}
          choices={windows.map((each) => [each, words.compare.windows[each]])}
          onChange={(window) => change({ window })}
        />
      )}
      {isCalendarUnit(choice.window) && (
        <TimeZoneField value={choice.timeZone} onChange={(timeZone) => change({ timeZone })} />
      )}
      {choice.algorithm === 'concurrency' && (
        <ChoiceField
          label={words.choose.ttl}
          value={choice.ttl}
          choices={TTLS.map((each) => [each, words.compare.durations[each]])}
          onChange={(ttl) => change({ ttl })}
        />
      )}
      {isBucket(choice) && number('capacity', words.compare.numbers.capacity, choice.capacity, maxLimit)}
      {canBlock(choice) && (
        <ChoiceField
          label={words.choose.blockFor}
          value={choice.blockFor}
          choices={BLOCKS.map((each) => [
            each,
            each === 'none' ? words.choose.noBlock : words.compare.durations[each],
          ])}
          onChange={(blockFor) => change({ blockFor })}
        />
      )}
      {choice.algorithm !== 'concurrency' && number('keys', words.choose.keys, keys, MAX_KEYS)}
      {canCountDenied(choice) && (
        <CheckField
          label={words.compare.countDenied}
          isOn={choice.countDenied}
          onChange={(isOn) => change({ countDenied: String(isOn) })}
        />
      )}
    </div>
  )
}
