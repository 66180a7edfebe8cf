export interface EventStreamVisitor {
  /** A part of the data of the current event. */
  data(bytes: Buffer, from: number, to: number): void
  /** The blank line after an event. */
  endOfEvent(): void
}

/** The state within a line: reading its field name, the value of `data`, or another value. */
type Line = 'name' | 'data' | 'other'

/** Reads server-sent events in pieces that may be cut anywhere, without buffering them. */
export function createEventStreamReader({ data, endOfEvent }: EventStreamVisitor): (bytes: Buffer) => void {
  let line: Line = 'name'
  let name = ''
  let isAfterReturn = false

  return (bytes) => {
    let from = 0
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!
      // The second half of a line end.
      const isIgnored = byte === LINE_FEED && isAfterReturn
      isAfterReturn = byte === CARRIAGE_RETURN
      if (isIgnored) continue
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
        if (line === 'data') data(bytes, from, at)
        else if (line === 'name' && name === '') endOfEvent()
        line = 'name'
        name = ''
      } else if (line === 'name') {
        if (byte === COLON) line = name === 'data' ? 'data' : 'other'
        else if (name.length === 'data'.length) line = 'other'
        else name += String.fromCharCode(byte)
        from = at + 1
      }
    }
    if (line === 'data' && from < bytes.length) data(bytes, from, bytes.length)
  }
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const COLON = 0x3a
