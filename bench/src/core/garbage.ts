/** Collects all garbage. The memory of typed arrays is found by one collection and freed by the next. */
export async function collectGarbage(): Promise<void> {
  const { gc } = globalThis
  if (gc === undefined) throw new Error('Run node with --expose-gc.')
  for (let i = 0; i < 3; i++) {
    gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
}
