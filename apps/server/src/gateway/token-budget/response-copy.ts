import {
  type BrotliDecompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  type Gunzip,
  type Inflate,
} from 'node:zlib'
import { createLlmResponseReader, type LlmResponse, type LlmResponseReader } from './llm-response.js'

/** Reads a copy of a response body, which itself passes unchanged. */
export interface ResponseCopy {
  write(bytes: Buffer): void
  /** The tokens of everything written so far. */
  end(): Promise<LlmResponse>
}

/** With more pending bytes, decoding is too slow for the response, and the rest is not read. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024

/** `coding` is the Content-Encoding, empty if there is none. */
export function createResponseCopy(contentType: string, coding: string): ResponseCopy {
  const reader = createLlmResponseReader(contentType)
  const name = coding.trim().toLowerCase()
  if (name === '' || name === 'identity') {
    return { write: (bytes) => reader.write(bytes), end: async () => reader.end() }
  }
  const decoder = createDecoder(name)
  return decoder === undefined ? createResponseCopy('', '') : createDecodedCopy(reader, decoder)
}

type Decoder = Gunzip | Inflate | BrotliDecompress

/** Creates a decoder that also decodes a body that was cut off. */
function createDecoder(coding: string): Decoder | undefined {
  if (coding === 'gzip' || coding === 'x-gzip') return createGunzip({ finishFlush: constants.Z_SYNC_FLUSH })
  if (coding === 'deflate') return createInflate({ finishFlush: constants.Z_SYNC_FLUSH })
  if (coding === 'br') return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH })
  return undefined
}

function createDecodedCopy(reader: LlmResponseReader, decoder: Decoder): ResponseCopy {
  let isIncomplete = false
  const isOver = new Promise<void>((resolve) => {
    // Invalid bytes end the copy, and not the response.
    decoder.on('data', (bytes: Buffer) => reader.write(bytes))
    decoder.on('error', () => {
      isIncomplete = true
    })
    decoder.once('close', resolve)
  })
  return {
    write(bytes) {
      isIncomplete ||= decoder.destroyed || decoder.writableLength > MAX_PENDING_BYTES
      if (isIncomplete) decoder.destroy()
      else decoder.write(bytes)
    },
    async end() {
      if (!decoder.destroyed) decoder.end()
      await isOver
      const read = reader.end()
      // A partial output would count as too little.
      return isIncomplete ? { ...read, output: undefined } : read
    },
  }
}
