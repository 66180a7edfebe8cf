import { constants, setPriority } from 'node:os'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'

/**
 * A Redis that answers in time on a busy machine too: the tests of slow processes and floods need a healthy one. Without
 * the permission to raise priorities it is a Redis like any other.
 */
export async function startHealthyRedis(): Promise<RedisServer> {
  const redis = await startRedis()
  raisePriority(redis.process.pid)
  return redis
}

/** Lets a process, and the processes that it starts from now on, run before others. Returns a function that ends this. */
export function raisePriority(pid: number | undefined): () => void {
  if (pid === undefined) return () => {}
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGHEST)
    return () => setPriority(pid, constants.priority.PRIORITY_NORMAL)
  } catch {
    return () => {}
  }
}
