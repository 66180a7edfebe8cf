import { ChoiceField } from '../../page/choice-field.js'
import { NumberField } from '../../page/number-field.js'
import { usePage } from '../../page/page-context.js'
import { TRAFFIC_NUMBERS, TrafficField } from '../traffic-field.js'
import {
  LEASE_NUMBERS,
  LEASE_TRAFFIC,
  LEASE_WINDOWS,
  LEASED_ALGORITHMS,
  type LeaseNumber,
  type LeaseSettings,
  maxAgeMsOf,
} from './lease-settings.js'

export function LeaseControls({
  settings,
  change,
}: {
  settings: LeaseSettings
  change: (changes: Partial<LeaseSettings>) => void
}) {
  const { words } = usePage()
  const number = (name: LeaseNumber, hint?: string) => (
    <NumberField
      key={name}
      label={words.leases.numbers[name]}
      value={settings[name]}
      min={LEASE_NUMBERS[name].min}
      max={LEASE_NUMBERS[name].max}
      hint={hint}
      onChange={(value) => change({ [name]: value })}
    />
  )
  const { limit, share, processes } = settings
  const largest = Math.floor((share * limit) / 100 / processes)
  return (
    <div class="controls">
      <TrafficField
        value={settings.traffic}
        kinds={LEASE_TRAFFIC}
        onChange={(traffic) => change({ traffic })}
      />
      <fieldset>
        <legend>{words.compare.settings}</legend>
        <div class="fields">
          {[...TRAFFIC_NUMBERS[settings.traffic]].map((name) => number(name))}
          <ChoiceField
            label={words.leases.algorithm}
            value={settings.algorithm}
            choices={LEASED_ALGORITHMS.map((each) => [each, words.algorithms[each]])}
            onChange={(algorithm) => change({ algorithm })}
          />
          {number('limit')}
          <ChoiceField
            label={words.compare.window}
            value={settings.window}
            choices={LEASE_WINDOWS.map((each) => [each, words.compare.windows[each]])}
            onChange={(window) => change({ window })}
          />
          {number('processes')}
          {number('maxAge', words.leases.maxAgeHint(maxAgeMsOf(settings)))}
          {number('share', largest > 1 ? words.leases.largest(largest) : words.leases.tooSmall)}
        </div>
        <p class="note">
          {words.leases.prices[settings.algorithm]} {words.leases.note}
        </p>
      </fieldset>
    </div>
  )
}
