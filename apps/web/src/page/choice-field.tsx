/** A field to choose one of a few values. */
export function ChoiceField<const T extends string>({
  label,
  value,
  choices,
  onChange,
}: {
  label: string
  value: T
  choices: readonly (readonly [value: T, label: string])[]
  onChange: (value: T) => void
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select
        value={value}
        onChange={(event) => {
          const chosen = choices.find(([each]) => each === event.currentTarget.value)
          if (chosen !== undefined) onChange(chosen[0])
        }}
      >
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
