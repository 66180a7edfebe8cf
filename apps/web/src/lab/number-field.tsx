/** A whole number of a range. What is outside is moved to the nearest that is inside; no number changes nothing. */
export function NumberField({
  label,
  value,
  min,
  max,
  hint,
  onChange,
}: {
  label: string
  value: number
  min: number
  max: number
  hint?: string | undefined
  onChange: (value: number) => void
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="number"
        inputMode="numeric"
        min={min}
        max={max}
        step={1}
        value={value}
        onChange={(event) => {
          const typed = Math.round(event.currentTarget.valueAsNumber)
          const next = Number.isFinite(typed) ? Math.min(max, Math.max(min, typed)) : value
          event.currentTarget.value = String(next)
          if (next !== value) onChange(next)
        }}
      />
      {hint !== undefined && <small>{hint}</small>}
    </label>
  )
}
