import { describe, expect, it } from 'vitest'
import { createEventStreamReader } from './event-stream.js'

/** The data of each event of a stream that arrives in pieces of one size. */
function eventsIn(text: string, pieceBytes = Number.POSITIVE_INFINITY): string[] {
  const events: string[] = []
  let current: Buffer[] = []
  const write = createEventStreamReader({
    data: (bytes, from, to) => current.push(bytes.subarray(from, to)),
    endOfEvent() {
      events.push(Buffer.concat(current).toString())
      current = []
    },
  })
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) write(bytes.subarray(at, at + pieceBytes))
  return events
}

describe('createEventStreamReader', () => {
  it.each([
    ['line feeds', '\n'],
    ['carriage returns', '\r'],
    ['both', '\r\n'],
  ])('reads events with %s as line ends, wherever they are split', (_, end) => {
    const lines = [
      'event: a',
      'data: {"한": 1}',
      '',
      ': comment: data',
      'data:x',
      'id: 7',
      'data:y',
      '',
      'data',
      'data2:z',
      '',
      '',
    ]
    const text = lines.join(end)
    for (const size of [1, 2, 3, 5, 1000]) expect(eventsIn(text, size)).toEqual([' {"한": 1}', 'xy', ''])
  })

  it('does not report an event before its blank line', () => {
    expect(eventsIn('data: 1\n\ndata: 2\n')).toEqual([' 1'])
  })
})
