/** Returns a unique random id. */
export function randomId(): string {
  const { crypto } = globalThis as { crypto?: { randomUUID?(): string } }
  // Browsers have `randomUUID` on secure pages only.
  return crypto?.randomUUID?.() ?? `${randomText()}${randomText()}${randomText()}`
}

function randomText(): string {
  return Math.random().toString(36).slice(2)
}
