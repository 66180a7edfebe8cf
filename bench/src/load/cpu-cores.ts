import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The server has its own core. The load generator and Redis share the other core. */
export const SERVER_CORE = 0
export const LOAD_CORE = 1

/** The command that runs a program on one core, or the program itself where processes cannot be pinned. */
export function onCore(
  core: number,
  command: string,
  args: readonly string[],
): { command: string; args: string[] } {
  if (!canPin()) return { command, args: [...args] }
  return { command: 'taskset', args: ['-c', String(core), command, ...args] }
}

/** Pins this process, with all its threads, to one core. */
export function pinToCore(core: number): void {
  if (canPin()) spawnSync('taskset', ['-a', '-c', '-p', String(core), String(process.pid)])
}

/** Options with which redis-server pins itself to one core. */
export function redisOnCore(core: number): string[] {
  return canPin() ? ['--server_cpulist', String(core), '--bio_cpulist', String(core)] : []
}

let cachedCanPin: boolean | undefined

function canPin(): boolean {
  cachedCanPin ??= availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0
  return cachedCanPin
}
