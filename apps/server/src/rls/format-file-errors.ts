import { formatConfigErrors } from '../config-file/config-error.js'
import type { FileErrors } from './limits/load-limits.js'

/** One line for each error of each file. */
export function formatFileErrors(errors: readonly FileErrors[]): string {
  return errors.map(({ file, errors }) => formatConfigErrors(errors, file)).join('\n')
}
