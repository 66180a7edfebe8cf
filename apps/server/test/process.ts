import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ServiceProcess, startServiceProcess } from '@tidegate/fixtures/service-process'

const COMMAND = fileURLToPath(new URL('../bin/tidegate.mjs', import.meta.url))

export type ServerProcess = ServiceProcess

/** `tidegate start` with these arguments, on a free port. */
export function startProcess(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<ServiceProcess> {
  return startServiceProcess({ args, env })
}

/** The exit code and the output of a command that ends. */
export async function runCommand(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      output += data
    })
  }
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, output }
}

/** The pids of the processes that a process has started. */
export function childrenOf({ pid }: ChildProcess): number[] {
  try {
    const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return list.trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** A configuration file in a new folder. */
export function configFile(yaml: string): { path: string; write(yaml: string): void; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-config-'))
  const path = join(folder, 'tidegate.yaml')
  const write = (text: string) => writeFileSync(path, text)
  write(yaml)
  return { path, write, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
