import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const repository = fileURLToPath(new URL('../../', import.meta.url))

/** Every package that is published, and its folder in this repository. */
export const PUBLISHED = [
  { name: '@tidegate/core', path: 'packages/core' },
  { name: '@tidegate/redis', path: 'packages/redis' },
  { name: '@tidegate/http', path: 'packages/http' },
  { name: '@tidegate/client', path: 'packages/client' },
  { name: '@tidegate/compat', path: 'packages/compat' },
  { name: 'tidegate', path: 'apps/server' },
] as const

/** Runs a program and returns its standard output. Rejects with all of its output if it fails. */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024, timeout: 580_000 }
  return new Promise((resolve, reject) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(`${command} ${args.join(' ')} failed: ${error.code}\n${stdout}\n${stderr}`))
    })
  })
}
