import { brotliCompressSync, constants, createGzip, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createResponseCopy } from './response-copy.js'

const BODY = Buffer.from(
  JSON.stringify({
    choices: [{ message: { content: '한국어 '.repeat(2000) } }],
    usage: { prompt_tokens: 11, completion_tokens: 22 },
  }),
)
const REPORTED = {
  hasUsage: true,
  input: 11,
  cached: undefined,
  output: 22,
  isCutOff: false,
  isBackground: false,
}

async function read(coding: string, body: Buffer, pieceBytes = 100, type = 'application/json') {
  const copy = createResponseCopy(type, coding)
  for (let at = 0; at < body.length; at += pieceBytes) copy.write(body.subarray(at, at + pieceBytes))
  return copy.end()
}

describe('createResponseCopy', () => {
  it.each([
    ['', BODY],
    ['identity', BODY],
    ['gzip', gzipSync(BODY)],
    ['X-Gzip', gzipSync(BODY)],
    ['deflate', deflateSync(BODY)],
    [' br ', brotliCompressSync(BODY)],
  ])('reads a body with the coding %j', async (coding, body) => {
    expect(await read(coding, body)).toEqual(REPORTED)
  })

  it('reads a compressed stream as far as it was sent', async () => {
    const gzip = createGzip()
    const sent: Buffer[] = []
    gzip.on('data', (bytes: Buffer) => sent.push(bytes))
    const event = { choices: [{ delta: { content: 'x'.repeat(40) } }] }
    gzip.write(`data: ${JSON.stringify(event)}\n\n`)
    await new Promise<void>((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, resolve))
    expect(await read('gzip', Buffer.concat(sent), 7, 'text/event-stream')).toMatchObject({ output: 10 })
    gzip.destroy()
  })

  it.each([
    ['a coding it cannot decode', 'zstd', BODY],
    ['two codings', 'gzip, br', gzipSync(brotliCompressSync(BODY))],
  ])('has no usage for %s', async (_, coding, body) => {
    expect(await read(coding, body)).toEqual({
      hasUsage: false,
      input: undefined,
      cached: undefined,
      output: undefined,
      isCutOff: false,
      isBackground: false,
    })
  })

  it('reports unknown output for bytes that are not valid in the coding', async () => {
    const unknown = { hasUsage: false, output: undefined }
    expect(await read('gzip', Buffer.from('this is not gzip at all'))).toMatchObject(unknown)
    expect(await read('br', Buffer.alloc(1000, 0xff), 1)).toMatchObject(unknown)
    // Some servers send deflate without the header of zlib.
    expect(await read('deflate', deflateRawSync(BODY))).toMatchObject(unknown)
    expect(await read('gzip', Buffer.alloc(0))).toMatchObject({ hasUsage: false })
  })

  it('stops reading a body that arrives faster than it can be decoded', async () => {
    const copy = createResponseCopy('application/json', 'gzip')
    const body = gzipSync(BODY, { level: 0 })
    copy.write(body.subarray(0, 100))
    for (let n = 0; n < 100; n++) copy.write(Buffer.alloc(100_000))
    expect(await copy.end()).toMatchObject({ hasUsage: false, output: undefined })
  })
})
