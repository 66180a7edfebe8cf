import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, inject } from 'vitest'
import { run } from './run.js'

/** A temporary npm project. It is deleted after the tests of the file. */
export interface Project {
  readonly folder: string
  write(files: Record<string, string>): void
  /** Runs a command in the project and returns its standard output. */
  run(command: string, ...args: string[]): Promise<string>
  /** The path of a file in the project. */
  path(...parts: string[]): string
}

const folders: string[] = []
// Each test file imports this module for itself, so this deletes the projects of that file.
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

const LIBRARIES = [
  '@tidegate/core',
  '@tidegate/redis',
  '@tidegate/http',
  '@tidegate/client',
  '@tidegate/compat',
]

/** A project with our packed libraries and these packages, installed by npm: `{ koa: '2', ts54: 'npm:typescript@5.4' }`. */
export async function createProject(
  packages: Record<string, string> = {},
  libraries: readonly string[] = LIBRARIES,
): Promise<Project> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-matrix-'))
  folders.push(folder)
  const tarballs = inject('tarballs')
  const dependencies = {
    ...Object.fromEntries(libraries.map((name) => [name, `file:${tarballs[name]}`])),
    ...packages,
  }
  const project: Project = {
    folder,
    write(files) {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true })
        writeFileSync(join(folder, name), text)
      }
    },
    run: (command, ...args) => run(command, args, folder),
    path: (...parts) => join(folder, ...parts),
  }
  project.write({ 'package.json': JSON.stringify({ private: true, dependencies }) })
  await project.run('npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error')
  return project
}
