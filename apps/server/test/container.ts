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

/** What deploy/Dockerfile says about the image that it makes. */
export interface Image {
  readonly workdir: string
  /** What is copied from where it was built, and to where in the working directory. */
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

/** The image's files, as far as they are ours, where nobody may write. */
export interface Tree {
  readonly folder: string
  remove(): void
}

export function makeTree(image: Image): Tree {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-image-'))
  for (const [from, to] of image.copied) {
    if (from === 'node_modules') copyDependencies(join(folder, to))
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

/** What `npm ci --omit=dev --workspace tidegate` installs: packages, links to ours, and the command. */
function copyDependencies(to: string): void {
  const args = ['ls', '--all', '--omit=dev', '--workspace', 'tidegate', '--parseable']
  const { stdout } = spawnSync('npm', args, { cwd: root, encoding: 'utf8' })
  const from = join(root, 'node_modules')
  for (const path of stdout.trim().split('\n').sort()) {
    const target = join(to, relative(from, path))
    if (!path.startsWith(`${from}/`)) continue
    mkdirSync(dirname(target), { recursive: true })
    cpSync(path, target, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (one) => one === path || isNoDependency(one),
    })
  }
  const { bin } = JSON.parse(readFileSync(join(root, 'apps/server/package.json'), 'utf8'))
  mkdirSync(join(to, '.bin'))
  symlinkSync(join('..', 'tidegate', bin.tidegate), join(to, '.bin', 'tidegate'))
}

/** The modes of all folders and files below; what can be run still can. */
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
