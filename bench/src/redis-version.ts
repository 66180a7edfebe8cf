import { spawnSync } from 'node:child_process'

export function redisVersion(): string {
  const { stdout, error } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  if (error) throw new Error('The benchmark starts redis-server: install it first.', { cause: error })
  return /v=(\S+)/.exec(stdout)?.[1] ?? 'unknown'
}
