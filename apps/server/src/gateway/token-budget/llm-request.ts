import { CHARACTERS_PER_TOKEN, estimatedTokens, MAX_BINARY_CHARACTERS } from './characters.js'
import { type JsonPath, JsonScanner } from './json-scanner.js'

/** The size of a request to a model. */
export interface LlmRequest {
  /** Estimated from the characters of the input. */
  readonly inputTokens: number
  /** The maximum number of output tokens that the request sets; undefined if it sets none. */
  readonly maxOutputTokens: number | undefined
  /** Empty if the request does not name one. */
  readonly model: string
}

export interface LlmRequestReader {
  write(bytes: Buffer): void
  end(): LlmRequest
}

/** Properties with text for the model: OpenAI's chat completions, responses, completions, embeddings; Anthropic's messages. */
const TEXT = new Set(['messages', 'system', 'prompt', 'suffix', 'input', 'instructions'])
/** Properties with JSON for the model, whose names, numbers and words count too. */
const SCHEMAS = new Set(['tools', 'functions', 'response_format', 'text'])
/** Properties that can hold token ids. Each id counts as one token. */
const TOKEN_IDS = new Set(['prompt', 'input'])
/** Properties with an image, a document or a recording in base64, or the address of one. */
const BINARY = new Set(['url', 'image_url', 'data', 'file_data'])

const MAXIMA = new Set(['max_tokens', 'max_completion_tokens', 'max_output_tokens'])
const CHOICES = new Set(['n', 'best_of'])
const MAX_MODEL_LENGTH = 256

/**
 * Reads a request body as it arrives. A body that is not a JSON object counts by its bytes. `hasOutput` is false for
 * embeddings, which have no output tokens.
 */
export function createLlmRequestReader({ hasOutput }: { readonly hasOutput: boolean }): LlmRequestReader {
  let bytes = 0
  let characters = 0
  let maximum: number | undefined
  let choices = 1
  let model = ''

  const addJson = (path: JsonPath, length: number) => {
    if (path.depth > 1 && SCHEMAS.has(path.keyAt(1))) characters += length
  }
  const scanner = new JsonScanner({
    keeps(path) {
      const key = path.keyAt(1)
      return path.depth === 1 && (key === 'model' || MAXIMA.has(key) || CHOICES.has(key))
    },
    kept(path, value) {
      const key = path.keyAt(1)
      if (key === 'model') model = typeof value === 'string' && value.length <= MAX_MODEL_LENGTH ? value : ''
      else if (!isPositiveWhole(value)) return
      else if (CHOICES.has(key)) choices = Math.max(choices, value)
      else maximum = Math.max(maximum ?? 0, value)
    },
    string(path, length) {
      addJson(path, length)
      if (!TEXT.has(path.keyAt(1))) return
      const isBinary = BINARY.has(path.keyAt(path.depth))
      characters += isBinary ? Math.min(length, MAX_BINARY_CHARACTERS) : length
    },
    name: addJson,
    scalar(path, length) {
      if (TOKEN_IDS.has(path.keyAt(1))) characters += CHARACTERS_PER_TOKEN
      else addJson(path, length)
    },
  })

  return {
    write(piece) {
      bytes += piece.length
      scanner.write(piece)
    },
    end() {
      if (!scanner.isWholeObject) {
        return { inputTokens: estimatedTokens(bytes), maxOutputTokens: hasOutput ? undefined : 0, model: '' }
      }
      const declared =
        maximum === undefined ? undefined : Math.min(maximum * choices, Number.MAX_SAFE_INTEGER)
      return { inputTokens: estimatedTokens(characters), maxOutputTokens: hasOutput ? declared : 0, model }
    },
  }
}

function isPositiveWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0
}
