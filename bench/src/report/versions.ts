import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { benchFile } from './paths.js'

const { dependencies } = JSON.parse(readFileSync(benchFile('package.json'), 'utf8')) as {
  dependencies: Record<string, string>
}

/** The versions of npm packages. `package.json` pins exact versions, so these are the installed ones. */
export function versionsOf(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, dependencies[name] ?? 'unknown']))
}

export function redisVersion(): string {
  return programVersion('redis-server', ['--version'], /v=(\S+)/)
}

export function wrkVersion(): string {
  return programVersion('wrk', ['--version'], /(\d+\.\d+\.\d+)/)
}

function programVersion(command: string, args: readonly string[], pattern: RegExp): string {
  const { stdout, error } = spawnSync(command, args, { encoding: 'utf8' })
  if (error) throw new Error(`The benchmark starts ${command}: install it first.`, { cause: error })
  return pattern.exec(stdout)?.[1] ?? 'unknown'
}
