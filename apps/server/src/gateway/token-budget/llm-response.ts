import { estimatedTokens, MAX_BINARY_CHARACTERS } from './characters.js'
import { createEventStreamReader } from './event-stream.js'
import { type JsonPath, JsonScanner } from './json-scanner.js'
import { mergeUsage, type ReportedUsage, readUsage } from './reported-usage.js'

/** The tokens of a response. */
export interface LlmResponse {
  /** Whether the upstream reported any usage. */
  readonly hasUsage: boolean
  /** As reported. */
  readonly input: number | undefined
  readonly cached: number | undefined
  /** As reported, or estimated from the characters sent. Undefined for a body that is not text. */
  readonly output: number | undefined
  /** Whether the output ended because it had reached its maximum. */
  readonly isCutOff: boolean
  /** Whether the model goes on after the response: `background` of OpenAI's responses. */
  readonly isBackground: boolean
}

export interface LlmResponseReader {
  write(bytes: Buffer): void
  /** The tokens of everything so far. */
  end(): LlmResponse
}

const NOTHING: ReportedUsage = { input: undefined, cached: undefined, output: undefined }

/** Reads the body of a response, decoded, as it passes; memory does not grow with it. */
export function createLlmResponseReader(contentType: string): LlmResponseReader {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase()
  if (type === 'text/event-stream') return createStreamReader()
  if (type === 'application/json' || type.endsWith('+json')) return createBodyReader()
  return { write() {}, end: () => ({ ...NOTHING, hasUsage: false, isCutOff: false, isBackground: false }) }
}

function createBodyReader(): LlmResponseReader {
  const { scanner, state } = createOutputScanner()
  return {
    write: (bytes) => scanner.write(bytes),
    end() {
      scanner.end()
      const { usage, characters, isCutOff, isBackground } = state
      const output = usage.output ?? estimatedTokens(characters)
      return { ...usage, hasUsage: isReported(usage), output, isCutOff, isBackground }
    },
  }
}

/**
 * Anthropic reports usage at the beginning of a stream and at its end, OpenAI at the end if the request asks for it. A
 * stream that ends early has sent more than was reported, so the characters since the last report count as well.
 */
function createStreamReader(): LlmResponseReader {
  const { scanner, state } = createOutputScanner()
  const write = createEventStreamReader({
    data: (bytes, from, to) => scanner.write(bytes, from, to),
    endOfEvent: () => scanner.end(),
  })
  return {
    write,
    end() {
      scanner.end()
      const { usage, charactersSinceUsage, isCutOff, isBackground } = state
      const output = (usage.output ?? 0) + estimatedTokens(charactersSinceUsage)
      return { ...usage, hasUsage: isReported(usage), output, isCutOff, isBackground }
    },
  }
}

interface OutputState {
  usage: ReportedUsage
  characters: number
  charactersSinceUsage: number
  isCutOff: boolean
  isBackground: boolean
}

function createOutputScanner(): { readonly scanner: JsonScanner; readonly state: OutputState } {
  const state: OutputState = {
    usage: NOTHING,
    characters: 0,
    charactersSinceUsage: 0,
    isCutOff: false,
    isBackground: false,
  }
  const scanner = new JsonScanner({
    keeps: (path) => isUsage(path) || isFinishReason(path) || isProgress(path),
    kept(path, value) {
      if (isFinishReason(path)) {
        state.isCutOff ||= CUT_OFF.has(value)
        return
      }
      if (isProgress(path)) {
        state.isBackground ||= value === true || value === 'queued'
        return
      }
      const usage = readUsage(value)
      state.usage = mergeUsage(state.usage, usage)
      if (usage.output !== undefined) state.charactersSinceUsage = 0
    },
    string(path, length) {
      const characters = outputCharacters(path, length)
      state.characters += characters
      state.charactersSinceUsage += characters
    },
  })
  return { scanner, state }
}

/**
 * Whether a value is `usage`, `response.usage` of OpenAI's response events or `message.usage` of Anthropic's. A deeper `usage`
 * may be input of a tool call, which the model writes.
 */
function isUsage(path: JsonPath): boolean {
  if (path.keyAt(path.depth) !== 'usage') return false
  const parent = path.keyAt(1)
  return path.depth === 1 || (path.depth === 2 && (parent === 'response' || parent === 'message'))
}

/** Why an output ended: in OpenAI's chat completions, Anthropic's messages, and OpenAI's responses. */
function isFinishReason(path: JsonPath): boolean {
  const parent = path.keyAt(1)
  switch (path.keyAt(path.depth)) {
    case 'finish_reason':
      return path.depth === 3 && parent === 'choices'
    case 'stop_reason':
      return path.depth === 1 || (path.depth === 2 && parent === 'delta')
    case 'reason':
      return path.depth <= 3 && path.keyAt(path.depth - 1) === 'incomplete_details'
    default:
      return false
  }
}

/** The finish reasons of an output that has reached its maximum. */
const CUT_OFF = new Set<unknown>(['length', 'max_tokens', 'max_output_tokens'])

/** `background` and `status` of OpenAI's responses, in the body or in an event. */
function isProgress(path: JsonPath): boolean {
  const key = path.keyAt(path.depth)
  if (key !== 'background' && key !== 'status') return false
  return path.depth === 1 || (path.depth === 2 && path.keyAt(1) === 'response')
}

/** How many characters of a string count as output. */
function outputCharacters(path: JsonPath, characters: number): number {
  if (!isOutput(path)) return 0
  const key = path.keyAt(path.depth)
  const parent = path.keyAt(path.depth - 1)
  if (isToolInput(path)) return characters
  // Base64, whose length is not the number of tokens. A recording has a transcript.
  if (parent === 'audio' && key === 'data') return 0
  if (parent === 'image_url' && key === 'url') return Math.min(characters, MAX_BINARY_CHARACTERS)
  return characters
}

function isOutput(path: JsonPath): boolean {
  const key = path.keyAt(path.depth)
  switch (path.keyAt(1)) {
    case 'content':
    case 'content_block':
    case 'delta':
      return !METADATA.has(key) || isToolInput(path)
    case 'choices':
      if (path.keyAt(3) !== 'delta' && path.keyAt(3) !== 'message') return OUTPUT_TEXT.has(key)
      return !METADATA.has(key) || isToolInput(path)
    case 'output':
      return OUTPUT_TEXT.has(key) || isToolInput(path)
    default:
      // Events that repeat the whole output use other properties.
      return false
  }
}

/** Properties of a message or a delta that the model does not write. */
const METADATA = new Set(['id', 'type', 'role', 'name', 'object', 'model'])
const OUTPUT_TEXT = new Set([
  'arguments',
  'code',
  'content',
  'input',
  'reasoning',
  'reasoning_content',
  'refusal',
  'text',
  'thinking',
])

/** The input of a tool call has properties of any name: content[].input of Anthropic. */
function isToolInput(path: JsonPath): boolean {
  for (let depth = 2; depth < path.depth; depth++) {
    const key = path.keyAt(depth)
    if (key === 'input' || key === 'arguments') return true
  }
  return false
}

function isReported({ input, output }: ReportedUsage): boolean {
  return input !== undefined || output !== undefined
}
