import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { PUBLISHED, repository, run } from './run.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Package name → path of its tarball. */
    tarballs: Record<string, string>
  }
}

/** Packs every published package once per test run. The caller has built them. */
export default async function pack(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-tarballs-'))
  const workspaces = PUBLISHED.flatMap(({ path }) => ['-w', path])
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, ...workspaces]
  const packed: { name: string; filename: string }[] = JSON.parse(await run('npm', args, repository))
  project.provide(
    'tarballs',
    Object.fromEntries(packed.map(({ name, filename }) => [name, join(folder, filename)])),
  )
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
