import { ChoiceField } from '../page/choice-field.js'
import { usePage } from '../page/page-context.js'
import { TIME_ZONES } from './time-zones.js'

export function TimeZoneField({ value, onChange }: { value: string; onChange: (zone: string) => void }) {
  const { words } = usePage()
  const names = TIME_ZONES.includes(value) ? TIME_ZONES : [value, ...TIME_ZONES]
  return (
    <ChoiceField
      label={words.compare.timeZone}
      value={value}
      choices={names.map((name) => [name, name])}
      onChange={onChange}
    />
  )
}
