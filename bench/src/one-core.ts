import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The server has a core to itself; whatever loads it, and Redis, share the other. */
export const SERVER_CORE = 0
export const LOAD_CORE = 1

/** The command that runs a program on one core, where the system can do that and has more than one. */
export function onCore(
  core: number,
  command: string,
  args: readonly string[],
): { command: string; args: string[] } {
  if (!canPin()) return { command, args: [...args] }
  return { command: 'taskset', args: ['-c', String(core), command, ...args] }
}

/** Moves this process, with all its threads, to one core. */
export function stayOnCore(core: number): void {
  if (canPin()) spawnSync('taskset', ['-a', '-c', '-p', String(core), String(process.pid)])
}

/** For Redis, which moves itself. */
export function redisOnCore(core: number): string[] {
  return canPin() ? ['--server_cpulist', String(core), '--bio_cpulist', String(core)] : []
}

let known: boolean | undefined

function canPin(): boolean {
  known ??= availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0
  return known
}
