import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { usePage } from './page-context.js'

/**
 * A field for a whole number. A value outside the range is clamped, and the range is shown; invalid input restores the
 * old value. With `emptyMeans`, the field shows 0 as empty, with this number as its placeholder.
 */
export function NumberField({
  label,
  value,
  min,
  max,
  hint,
  emptyMeans,
  onChange,
}: {
  label: string
  value: number
  min: number
  max: number
  hint?: string | undefined
  emptyMeans?: number | undefined
  onChange: (value: number) => void
}) {
  const { fields: words } = usePage().words
  const [isClamped, setClamped] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const textOf = (number: number) => (emptyMeans !== undefined && number === 0 ? '' : String(number))
  // Not as a property: then each render would replace a number that is being typed.
  useLayoutEffect(() => {
    if (input.current !== null) input.current.value = textOf(value)
  }, [value])
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="number"
        inputMode="numeric"
        min={min}
        max={max}
        step={1}
        placeholder={emptyMeans === undefined ? undefined : String(emptyMeans)}
        ref={input}
        onChange={({ currentTarget: field }) => {
          const isCleared = emptyMeans !== undefined && field.value === '' && !field.validity.badInput
          const typed = isCleared ? 0 : Math.round(field.valueAsNumber)
          const next = Number.isFinite(typed) ? Math.min(max, Math.max(min, typed)) : value
          setClamped(Number.isFinite(typed) && typed !== next)
          field.value = textOf(next)
          if (next !== value) onChange(next)
        }}
      />
      {isClamped ? (
        <small class="problem" role="status">
          {words.range(Math.max(min, emptyMeans === undefined ? min : 1), max)}
        </small>
      ) : (
        hint !== undefined && <small>{hint}</small>
      )}
    </label>
  )
}
