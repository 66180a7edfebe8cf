import { tokensOf } from './characters.js'
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
  /** As reported, and where that is missing estimated from the characters sent. Undefined for a body that is not text. */
  readonly output: number | undefined
  /** Whether the output ended because it had reached its maximum. */
  readonly isCutOff: boolean
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
  return { write() {}, end: () => ({ ...NOTHING, hasUsage: false, isCutOff: false }) }
}

function createBodyReader(): LlmResponseReader {
  const { scanner, state } = createOutputScanner()
  return {
    write: (bytes) => scanner.write(bytes),
    end() {
      scanner.end()
      const { usage, characters, isCutOff } = state
      const output = usage.output ?? tokensOf(characters)
      return { ...usage, hasUsage: isReported(usage), output, isCutOff }
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
      const { usage, charactersSinceUsage, isCutOff } = state
      const output = (usage.output ?? 0) + tokensOf(charactersSinceUsage)
      return { ...usage, hasUsage: isReported(usage), output, isCutOff }
    },
  }
}

interface OutputState {
  usage: ReportedUsage
  characters: number
  charactersSinceUsage: number
  isCutOff: boolean
}

function createOutputScanner(): { readonly scanner: JsonScanner; readonly state: OutputState } {
  const state: OutputState = { usage: NOTHING, characters: 0, charactersSinceUsage: 0, isCutOff: false }
  const scanner = new JsonScanner({
    keeps: (path) => isUsage(path) || isFinishReason(path),
    kept(path, value) {
      if (isFinishReason(path)) {
        state.isCutOff ||= CUT_OFF.has(value)
        return
      }
      const usage = readUsage(value)
      state.usage = mergeUsage(state.usage, usage)
      if (usage.output !== undefined) state.charactersSinceUsage = 0
    },
    string(path, characters) {
      if (!isOutput(path)) return
      state.characters += characters
      state.charactersSinceUsage += characters
    },
  })
  return { scanner, state }
}

/**
 * `usage`, `response.usage` of OpenAI's response events and `message.usage` of Anthropic's. Not deeper: a model writes
 * the input of a tool call, and could be asked to write a `usage` there.
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

/** The top-level properties that have output. Events that repeat earlier output in whole have it elsewhere. */
const OUTPUT = new Set(['choices', 'content', 'delta', 'output'])
const OUTPUT_TEXT = new Set([
  'arguments',
  'content',
  'delta',
  'partial_json',
  'reasoning',
  'reasoning_content',
  'refusal',
  'text',
  'thinking',
])

function isOutput(path: JsonPath): boolean {
  if (!OUTPUT.has(path.keyAt(1))) return false
  // The input of a tool call of Anthropic has properties of any name: content[].input.
  return OUTPUT_TEXT.has(path.keyAt(path.depth)) || (path.depth > 3 && path.keyAt(3) === 'input')
}

function isReported({ input, output }: ReportedUsage): boolean {
  return input !== undefined || output !== undefined
}
