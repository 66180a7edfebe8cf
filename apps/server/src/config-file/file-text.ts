import { readFileSync } from 'node:fs'
import type { ConfigError } from './config-error.js'

/** The text of a file, or the error of reading it. */
export type FileText = string | ConfigError

/** Reads a file as UTF-8. */
export function readFileText(file: string): FileText {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return { path: file, message: REASONS[code] ?? `cannot be read: ${code}` }
  }
}

const REASONS: Record<string, string> = {
  ENOENT: 'file not found',
  EISDIR: 'must be a file, but is a folder; write the path of a file in it',
  EACCES: 'cannot be read: permission denied',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8; save it as UTF-8',
}
