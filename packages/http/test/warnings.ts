import { afterEach, beforeEach } from 'vitest'

/** The warnings of the process with this code. `read` waits until Node has emitted them. */
export function collectWarnings(code: string): { read(): Promise<string[]> } {
  let messages: string[] = []
  const note = (warning: Error & { code?: string }) => {
    if (warning.code === code) messages.push(warning.message)
  }
  beforeEach(() => {
    messages = []
    process.on('warning', note)
  })
  afterEach(() => {
    process.off('warning', note)
  })
  return {
    async read() {
      await new Promise((resolve) => setImmediate(resolve))
      return messages
    },
  }
}
