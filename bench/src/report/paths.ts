import { fileURLToPath } from 'node:url'

const BENCH = new URL('../../', import.meta.url)

/** A file of this workspace. Compiled code is named by its place in `dist`, so that tests in `src` start it too. */
export function benchFile(path: string): string {
  return fileURLToPath(new URL(path, BENCH))
}

export function repoFile(path: string): string {
  return fileURLToPath(new URL(`../${path}`, BENCH))
}
