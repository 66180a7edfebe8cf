/** Waits until `isSo` is true, asking again and again, and says what it waited for if it never is. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  { timeoutMs = 20_000, everyMs = 20 } = {},
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (performance.now() < deadline) {
    if (await isSo()) return
    await pause(everyMs)
  }
  throw new Error(`waited ${timeoutMs} ms for ${what}`)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
