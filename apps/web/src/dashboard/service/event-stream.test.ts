import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventsOf } from './event-stream.js'

function streamOf(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
}

async function read(pieces: readonly Uint8Array[]): Promise<string[]> {
  const events: string[] = []
  for await (const event of eventsOf(streamOf(pieces))) events.push(event)
  return events
}

const bytes = (text: string) => new TextEncoder().encode(text)

describe('server-sent events', () => {
  it.each<[string, string, string[]]>([
    ['of one line', 'event: live\ndata: {"a":1}\n\n', ['{"a":1}']],
    ['of several lines', 'data: a\ndata: b\n\n', ['a\nb']],
    ['with carriage returns', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['with comments between', ': still here\n\ndata: a\n\n', ['a']],
    ['without a space', 'data:a\n\n', ['a']],
    ['that is not finished', 'data: a\n\ndata: b', ['a']],
  ])('%s', async (_title, text, events) => {
    expect(await read([bytes(text)])).toStrictEqual(events)
  })

  it('are the same for any chunks, even within a multi-byte character', async () => {
    const texts = ['{"key":"한글 🙂"}', '{"n":1}', '{}']
    const whole = bytes(texts.map((text) => `event: live\ndata: ${text}\n\n`).join(''))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(whole.length), { maxLength: 12 }), async (cuts) => {
        const ends = [0, ...cuts.toSorted((a, b) => a - b), whole.length]
        const pieces = ends.slice(1).map((end, i) => whole.slice(ends[i], end))
        expect(await read(pieces)).toStrictEqual(texts)
      }),
      { seed: 8, numRuns: 300 },
    )
  })

  it('stops reading an event that is too long', async () => {
    const piece = bytes('x'.repeat(1024 * 1024))
    expect(await read(Array.from({ length: 6 }, () => piece))).toStrictEqual([])
  })
})
