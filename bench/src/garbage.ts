/** Leaves only what is alive. Memory of typed arrays goes in steps: one collection finds it, the next frees it. */
export async function collectGarbage(): Promise<void> {
  const { gc } = globalThis
  if (gc === undefined) throw new Error('Run node with --expose-gc.')
  for (let i = 0; i < 3; i++) {
    gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
}
