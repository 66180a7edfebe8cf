/** Longer than any live event. Reading stops at a longer one. */
const MAX_CHARACTERS = 4 * 1024 * 1024

/** The data of server-sent events. `EventSource` cannot send the admin token. */
export async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += decoder.decode(value, { stream: true })
      if (rest.length > MAX_CHARACTERS) return
      const events = rest.split(/\r?\n\r?\n/)
      rest = events.pop() ?? ''
      for (const event of events) {
        const data = dataOf(event)
        if (data !== undefined) yield data
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function dataOf(event: string): string | undefined {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'))
  return lines.length === 0 ? undefined : lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n')
}
