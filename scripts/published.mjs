// The packages that are published, dependencies first, and helpers for scripts that change their package.json files.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root = process.env.TIDEGATE_ROOT ?? fileURLToPath(new URL('..', import.meta.url))

export const LIBRARIES = [
  'packages/core',
  'packages/redis',
  'packages/http',
  'packages/client',
  'packages/compat',
]
export const PUBLISHED = [...LIBRARIES, 'apps/server']

/** @param {string} file */
export function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/**
 * @param {string} file
 * @param {unknown} value
 */
export function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
}

/**
 * @param {string} file
 * @param {(text: string) => string} change
 */
export function writeText(file, change) {
  writeFileSync(file, change(readFileSync(file, 'utf8')))
}
