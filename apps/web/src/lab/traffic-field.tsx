import { usePage } from '../page/page-context.js'
import type { TrafficKind } from '../simulation/arrivals.js'

/** The numbers of each kind of traffic. */
export const TRAFFIC_NUMBERS = {
  steady: ['rate'],
  bursts: ['size', 'every'],
  boundary: ['size', 'lead'],
  ramp: ['rate'],
  random: ['rate', 'seed'],
  drawn: [],
} as const satisfies Record<TrafficKind, readonly string[]>

/** A choice of the traffic, with a sentence about the chosen kind. */
export function TrafficField<const T extends TrafficKind>({
  value,
  kinds,
  onChange,
}: {
  value: T
  kinds: readonly T[]
  onChange: (kind: T) => void
}) {
  const { words } = usePage()
  return (
    <fieldset>
      <legend>{words.compare.traffic}</legend>
      <div class="segments">
        {kinds.map((kind) => (
          <label key={kind}>
            <input type="radio" name="traffic" checked={value === kind} onChange={() => onChange(kind)} />
            <span>{words.compare.kinds[kind]}</span>
          </label>
        ))}
      </div>
      <p class="note">{words.compare.kindNotes[value]}</p>
    </fieldset>
  )
}
