/** The path of a value: the names of the properties around it. */
export interface JsonPath {
  /** The number of objects and arrays around the value. */
  readonly depth: number
  /** The name of the property at a depth, from 1; in an array, the name of the property with the array. */
  keyAt(depth: number): string
}

export interface JsonVisitor {
  /** Called where a value begins. True: `kept` gets it at its end, unless it is too long or malformed. */
  keeps(path: JsonPath): boolean
  kept(path: JsonPath, value: unknown): void
  /** Called at the end of a string value. */
  string(path: JsonPath, characters: number): void
  /** Called at the end of a property name. */
  name?(path: JsonPath, characters: number): void
  /** Called at the end of a number, true, false or null. */
  scalar?(path: JsonPath, characters: number): void
}

/** Deeper property names are not tracked. */
const MAX_DEPTH = 32
/** Visitors do not look for longer names, even with every character escaped. */
const MAX_NAME_BYTES = 192
/** A longer value is not kept. */
const MAX_KEPT_BYTES = 64 * 1024

type Mode = 'between' | 'string' | 'scalar'

/**
 * Reads JSON in pieces that may be cut anywhere, also within a UTF-8 character, in memory that does not grow with the
 * text or its nesting. It reports the values of well-formed JSON and does not reject other text: the reports are only used
 * for estimates.
 */
export class JsonScanner implements JsonPath {
  depth = 0
  private readonly visitor: JsonVisitor
  private readonly keys: string[] = []
  private readonly isObject: boolean[] = []
  private mode: Mode = 'between'
  /** Whether the next string is a property name. */
  private expectsName = false
  private isName = false
  private name = ''
  /** Remaining bytes of an escape sequence. */
  private escapeBytes = 0
  private characters = 0
  private state: 'empty' | 'open' | 'whole' | 'broken' = 'empty'
  private keptDepth = -1
  private keptBytes = 0
  private keptPieces: Buffer[] = []

  constructor(visitor: JsonVisitor) {
    this.visitor = visitor
  }

  /** Whether the text so far is one object from its first brace to its last. */
  get isWholeObject(): boolean {
    return this.state === 'whole'
  }

  keyAt(depth: number): string {
    return this.keys[Math.min(depth, MAX_DEPTH)] ?? ''
  }

  /** Discards the state: the next piece begins a new text. */
  reset(): void {
    this.depth = 0
    this.mode = 'between'
    this.expectsName = false
    this.escapeBytes = 0
    this.state = 'empty'
    this.keys.length = 0
    this.dropKept()
  }

  write(bytes: Buffer, from = 0, to = bytes.length): void {
    let keptFrom = this.keptDepth >= 0 ? from : -1
    let at = from
    while (at < to) {
      if (this.mode === 'string') {
        at = this.skipString(bytes, at, to)
        if (this.mode === 'string') break
        if (this.isName) this.endName()
        else {
          this.visitor.string(this, this.characters)
          if (this.depth === this.keptDepth) keptFrom = this.endKept(bytes, keptFrom, at)
        }
        continue
      }
      const byte = bytes[at]!
      if (this.mode === 'scalar') {
        if (!endsScalar(byte)) {
          this.characters++
          at++
          continue
        }
        this.mode = 'between'
        this.visitor.scalar?.(this, this.characters)
        if (this.depth === this.keptDepth) keptFrom = this.endKept(bytes, keptFrom, at)
      }
      at++
      switch (byte) {
        case SPACE:
        case TAB:
        case LINE_FEED:
        case CARRIAGE_RETURN:
        case COLON:
          break
        case COMMA:
          this.expectsName = this.isObject[this.depth] === true
          break
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.close()
          if (this.depth === this.keptDepth) keptFrom = this.endKept(bytes, keptFrom, at)
          break
        default:
          if (this.begins(byte)) keptFrom = at - 1
      }
    }
    if (keptFrom >= 0) this.keep(bytes, keptFrom, to)
  }

  /** Reports a string that was cut off. */
  end(): void {
    if (this.mode === 'string' && !this.isName) this.visitor.string(this, this.characters)
    this.reset()
  }

  /** Begins a name or a value. Returns whether the value is kept. */
  private begins(byte: number): boolean {
    this.characters = 0
    if (this.state !== 'open') {
      if (this.state === 'empty') this.state = byte === OPEN_OBJECT ? 'open' : 'broken'
      else this.state = 'broken'
    }
    const isString = byte === QUOTE
    this.isName = isString && this.expectsName
    const isKept = !this.isName && this.keptDepth < 0 && this.visitor.keeps(this)
    if (isKept) this.keptDepth = this.depth
    if (isString) {
      this.mode = 'string'
      this.name = ''
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.open(byte === OPEN_OBJECT)
    else {
      this.mode = 'scalar'
      this.characters = 1
    }
    return isKept
  }

  private open(isObject: boolean): void {
    this.depth++
    const isTracked = this.depth <= MAX_DEPTH
    this.expectsName = isObject && isTracked
    if (!isTracked) return
    this.isObject[this.depth] = isObject
    this.keys[this.depth] = this.keys[this.depth - 1] ?? ''
  }

  private close(): void {
    this.expectsName = false
    if (this.depth === 0) this.state = 'broken'
    else if (--this.depth === 0 && this.state === 'open') this.state = 'whole'
  }

  /** Counts characters up to the end of the string or of the piece, and returns its offset. */
  private skipString(bytes: Buffer, from: number, to: number): number {
    let { characters, escapeBytes } = this
    let at = from
    for (; at < to; at++) {
      const byte = bytes[at]!
      const isEnd = byte === QUOTE && escapeBytes === 0
      if (this.isName && !isEnd && this.name.length <= MAX_NAME_BYTES) this.name += String.fromCharCode(byte)
      if (escapeBytes > 0) {
        escapeBytes += byte === LETTER_U && escapeBytes === 1 ? 3 : -1
        continue
      }
      if (isEnd) {
        this.mode = 'between'
        at++
        break
      }
      if (byte === BACKSLASH) escapeBytes = 1
      // The other bytes of a UTF-8 character begin with the bits 10.
      if ((byte & 0xc0) !== 0x80) characters++
    }
    this.characters = characters
    this.escapeBytes = escapeBytes
    return at
  }

  private endName(): void {
    this.expectsName = false
    this.keys[this.depth] = this.name.length > MAX_NAME_BYTES ? '' : decodeEscapes(this.name)
    this.visitor.name?.(this, this.characters)
  }

  private keep(bytes: Buffer, from: number, to: number): void {
    this.keptBytes += to - from
    if (this.keptBytes <= MAX_KEPT_BYTES) this.keptPieces.push(bytes.subarray(from, to))
    else this.keptPieces = []
  }

  /** Reports the kept value. Returns -1, the offset when no value is kept. */
  private endKept(bytes: Buffer, from: number, to: number): -1 {
    this.keep(bytes, from, to)
    const { keptPieces } = this
    this.dropKept()
    const value = parse(Buffer.concat(keptPieces).toString())
    if (value !== undefined) this.visitor.kept(this, value)
    return -1
  }

  private dropKept(): void {
    this.keptDepth = -1
    this.keptBytes = 0
    this.keptPieces = []
  }
}

const TAB = 0x09
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const LETTER_U = 0x75
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

function endsScalar(byte: number): boolean {
  return byte <= SPACE || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY
}

/** Decodes escapes in a name: a client could otherwise hide `mess\u0061ges` from the estimate. */
function decodeEscapes(name: string): string {
  if (!name.includes('\\')) return name
  const value = parse(`"${name}"`)
  return typeof value === 'string' ? value : ''
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
