import { suspiciousDuration } from '@tidegate/core'

/** The options of a policy that are durations. */
const DURATIONS = ['window', 'ttl', 'blockFor']

/**
 * Warns about numbers that look like seconds, and gives them their unit: otherwise the factory of the policy would print
 * a warning without the position in the file.
 */
export function withUnits(
  fields: Readonly<Record<string, unknown>>,
  warn: (field: string, message: string) => void,
): Record<string, unknown> {
  const result = { ...fields }
  for (const field of DURATIONS) {
    const message = suspiciousDuration(fields[field])
    if (message === undefined) continue
    warn(field, message)
    result[field] = `${fields[field]}ms`
  }
  return result
}
