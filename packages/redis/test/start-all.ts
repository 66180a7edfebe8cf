/** Starts several servers or processes at once; if one fails to start, stops the others. */
export async function startAll<T extends { stop(): Promise<void> }>(starts: Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(starts)
  const failed = results.find((result) => result.status === 'rejected')
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  if (failed === undefined) return started
  await Promise.all(started.map((one) => one.stop()))
  throw failed.reason
}
