import { oneOf, wholeNumber } from './address.js'

/** A setting in the address. `read` returns the fallback for a missing or invalid value. */
export interface Field<T> {
  readonly fallback: T
  readonly read: (text: string | undefined) => T
}

export interface WholeNumberField extends Field<number> {
  readonly min: number
  readonly max: number
}

export function numberField(min: number, max: number, fallback: number): WholeNumberField {
  return { min, max, fallback, read: (text) => wholeNumber(text, min, max, fallback) }
}

export function choiceField<const T extends string>(values: readonly T[], fallback: NoInfer<T>): Field<T> {
  return { fallback, read: (text) => oneOf(text, values, fallback) }
}

type Fields = Readonly<Record<string, Field<string> | Field<number> | Field<boolean>>>

/** The values of fields, by their names in the address. */
export type ValuesOf<F extends Fields> = { readonly [N in keyof F]: ReturnType<F[N]['read']> }

export function readFields<F extends Fields>(params: ReadonlyMap<string, string>, fields: F): ValuesOf<F> {
  const entries = Object.entries(fields).map(([name, { read }]) => [name, read(params.get(name))])
  return Object.fromEntries(entries)
}

/** Adds values to `params`; defaults are left out. */
export function writeFields<F extends Fields>(
  params: Map<string, string>,
  fields: F,
  values: NoInfer<ValuesOf<F>>,
): void {
  for (const [name, { fallback }] of Object.entries(fields)) {
    const value = values[name as keyof F]
    if (value !== fallback) params.set(name, String(value))
  }
}
