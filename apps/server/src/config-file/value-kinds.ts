import { quote } from './config-error.js'

/** Whether a value of a file is keys and values. */
export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value of a file for an error message. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'keys and values' : String(value)
}
