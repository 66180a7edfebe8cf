import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** 100 requests a day for each user. */
export const LIMITS = `
domain: shop
descriptors:
  - { key: user, rate_limit: { unit: day, requests_per_unit: 100 } }
`

/** Two limits that are taken together or not at all. */
export const ATOMIC = `
domain: pair
atomic: true
descriptors:
  - { key: a, rate_limit: { unit: day, requests_per_unit: 50 } }
  - { key: b, rate_limit: { unit: day, requests_per_unit: 80 } }
`

/** A temporary folder with limit files. */
export interface LimitsFolder {
  readonly path: string
  write(name: string, text: string): string
  remove(name?: string): void
}

export function limitsFolder(files: Readonly<Record<string, string>> = {}): LimitsFolder {
  const path = mkdtempSync(join(tmpdir(), 'tidegate-limits-'))
  const write = (name: string, text: string) => {
    writeFileSync(join(path, name), text)
    return join(path, name)
  }
  for (const [name, text] of Object.entries(files)) write(name, text)
  return {
    path,
    write,
    remove: (name) => rmSync(name === undefined ? path : join(path, name), { recursive: true, force: true }),
  }
}
