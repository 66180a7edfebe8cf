import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { root } from './program.js'

/** The image of deploy/Dockerfile. */
export interface Image {
  readonly workdir: string
  /** Paths that are copied from the build stage to the working directory. */
  readonly copied: readonly (readonly [from: string, to: string])[]
  readonly env: Readonly<Record<string, string>>
  readonly user: string | undefined
  readonly command: readonly string[]
  readonly healthCheck: readonly string[]
}

export function readImage(): Image {
  const text = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8').replaceAll(/\\\n\s*/g, '')
  const last = text.slice(text.lastIndexOf('\nFROM '))
  const all = (word: string) =>
    [...last.matchAll(new RegExp(`^${word} (.*)$`, 'gm'))].map((match) => match[1]!)
  const [workdir = '/'] = all('WORKDIR')
  return {
    workdir,
    copied: all('COPY --from=build').map((paths) => {
      const [from = '', to = ''] = paths.split(' ')
      return [relative(workdir, from), to] as const
    }),
    env: Object.fromEntries(all('ENV').map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string])),
    user: all('USER').at(-1),
    command: JSON.parse(all('CMD').at(-1) ?? '[]'),
    healthCheck: JSON.parse(/ CMD (\[.*\])$/.exec(all('HEALTHCHECK').at(-1) ?? '')?.[1] ?? '[]'),
  }
}

/** The files of the image, in a read-only folder. */
export interface Tree {
  readonly folder: string
  remove(): void
}

export function makeTree(image: Image): Tree {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-image-'))
  for (const [from, to] of image.copied) {
    if (from === 'node_modules') copyDependencies(folder)
    else cpSync(join(root, from), join(folder, to), { recursive: true, filter: isNoDependency })
  }
  setModes(folder, 0o555, 0o444)
  return {
    folder,
    remove() {
      setModes(folder, 0o755, 0o644)
      rmSync(folder, { recursive: true })
    },
  }
}

function isNoDependency(path: string): boolean {
  return !path.endsWith('/node_modules')
}

/**
 * The packages that `npm ci --omit=dev --workspace tidegate` installs, at the root and below `apps/server`, the links to the
 * packages of this repository, and the command.
 */
function copyDependencies(folder: string): void {
  const args = ['ls', '--all', '--omit=dev', '--workspace', 'tidegate', '--parseable']
  const { stdout } = spawnSync('npm', args, { cwd: root, encoding: 'utf8' })
  for (const path of stdout.trim().split('\n').sort()) {
    if (!path.includes('/node_modules/')) continue
    const target = join(folder, relative(root, path))
    mkdirSync(dirname(target), { recursive: true })
    cpSync(path, target, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (one) => one === path || isNoDependency(one),
    })
  }
  const { bin } = JSON.parse(readFileSync(join(root, 'apps/server/package.json'), 'utf8'))
  const binaries = join(folder, 'node_modules', '.bin')
  mkdirSync(binaries)
  symlinkSync(join('..', 'tidegate', bin.tidegate), join(binaries, 'tidegate'))
}

/** Sets the modes of all folders and files below. Executable files stay executable. */
function setModes(path: string, folders: number, files: number): void {
  const stat = lstatSync(path)
  if (stat.isSymbolicLink()) return
  if (!stat.isDirectory()) {
    chmodSync(path, files | (stat.mode & 0o100 ? 0o111 : 0))
    return
  }
  chmodSync(path, folders | 0o200)
  for (const name of readdirSync(path)) setModes(join(path, name), folders, files)
  chmodSync(path, folders)
}
