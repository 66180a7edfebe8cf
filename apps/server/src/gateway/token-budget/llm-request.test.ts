import { describe, expect, it } from 'vitest'
import { createLlmRequestReader } from './llm-request.js'

function read(body: unknown, { hasOutput = true, pieceBytes = Number.POSITIVE_INFINITY } = {}) {
  const reader = createLlmRequestReader({ hasOutput })
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.write(bytes.subarray(at, at + pieceBytes))
  return reader.end()
}

/** Text of this many characters. */
const text = (length: number) => 'x'.repeat(length)

describe('createLlmRequestReader', () => {
  it('reads a chat completion of OpenAI', () => {
    const body = {
      model: 'gpt-5-mini',
      messages: [
        { role: 'system', content: text(36) },
        { role: 'user', content: [{ type: 'text', text: text(100) }] },
        { role: 'assistant', tool_calls: [{ function: { name: 'look', arguments: text(50) } }] },
      ],
      max_completion_tokens: 500,
      stream: true,
      temperature: 0.5,
      user: text(1000),
    }
    // The roles have 6 + 4 + 9 characters, the type 4 and the name 4.
    expect(read(body)).toEqual({ inputTokens: Math.ceil(213 / 4), maxOutputTokens: 500, model: 'gpt-5-mini' })
  })

  it('decodes escaped property names', () => {
    const escaped = (name: string) =>
      [...name].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    const body = `{"mess\\u0061ges": "${text(40)}", "${escaped('max_completion_tokens')}": 7, "mod\\u0065l": "m"}`
    for (const pieceBytes of [1, 5, 1000]) {
      expect(read(body, { pieceBytes })).toEqual({ inputTokens: 10, maxOutputTokens: 7, model: 'm' })
    }
  })

  it('reads a response of OpenAI: text, instructions and tools', () => {
    expect(read({ model: 'gpt-5', input: text(40), instructions: text(20), max_output_tokens: 300 })).toEqual(
      {
        inputTokens: 15,
        maxOutputTokens: 300,
        model: 'gpt-5',
      },
    )
    expect(
      read({ input: [{ role: 'user', content: [{ type: 'input_text', text: text(72) }] }] }).inputTokens,
    ).toBe(22)
  })

  it('reads a completion of OpenAI: texts and token ids', () => {
    expect(read({ prompt: text(41), suffix: text(7) }).inputTokens).toBe(12)
    expect(read({ prompt: [text(8), text(8)] }).inputTokens).toBe(4)
    expect(read({ prompt: [15_496, 995, 11] }).inputTokens).toBe(3)
    expect(read({ prompt: [[1, 2, 3], [4]] }).inputTokens).toBe(4)
  })

  it('reads embeddings, which have no output', () => {
    const body = { model: 'text-embedding-3-small', input: [text(80), text(20)] }
    expect(read(body, { hasOutput: false })).toEqual({
      inputTokens: 25,
      maxOutputTokens: 0,
      model: 'text-embedding-3-small',
    })
  })

  it('reads messages of Anthropic: system, blocks and tools', () => {
    const tools = [{ name: 'add', input_schema: { type: 'object', properties: { a: { minimum: 10 } } } }]
    const toolsOnly = read({ tools }).inputTokens
    // The names have 38 characters, the texts 9, the number 2.
    expect(toolsOnly).toBe(13)
    const body = {
      model: 'claude-sonnet-4-5',
      max_tokens: 1024,
      system: [{ type: 'text', text: text(60) }],
      messages: [{ role: 'user', content: text(92) }],
      tools,
    }
    expect(read(body)).toEqual({
      inputTokens: 40 + toolsOnly,
      maxOutputTokens: 1024,
      model: 'claude-sonnet-4-5',
    })
  })

  it('counts an image as at most 1,600 tokens', () => {
    const image = `data:image/png;base64,${text(1_000_000)}`
    expect(read({ messages: [{ content: [{ image_url: { url: image } }] }] }).inputTokens).toBe(1600)
    expect(read({ messages: [{ content: [{ source: { data: text(1_000_000) } }] }] }).inputTokens).toBe(1600)
    expect(read({ input: [{ image_url: 'https://a.example/b' }] }).inputTokens).toBe(5)
  })

  it('takes the largest maximum, times the number of choices', () => {
    expect(read({ max_tokens: 100, max_completion_tokens: 700, max_output_tokens: 50 }).maxOutputTokens).toBe(
      700,
    )
    expect(read({ max_tokens: 100, n: 4 }).maxOutputTokens).toBe(400)
    expect(read({ best_of: 5, n: 2, max_tokens: 100 }).maxOutputTokens).toBe(500)
    expect(read({ n: 4 }).maxOutputTokens).toBeUndefined()
    expect(read({ max_tokens: 1e300, n: 1e300 }).maxOutputTokens).toBe(Number.MAX_SAFE_INTEGER)
  })

  it.each([
    ['a maximum that is not a positive whole number', { max_tokens: -5 }],
    ['a maximum in quotes', { max_tokens: '500' }],
    ['a maximum with a fraction', { max_tokens: 10.5 }],
    ['a maximum that is an object', { max_tokens: { max_tokens: 500 } }],
    ['a maximum that is null', { max_tokens: null }],
    ['a maximum below the top level', { metadata: { max_tokens: 500 } }],
  ])('ignores %s', (_, body) => {
    expect(read(body).maxOutputTokens).toBeUndefined()
  })

  it('ignores a model that is not text or too long', () => {
    expect(read({ model: 7 }).model).toBe('')
    expect(read({ model: text(257) }).model).toBe('')
    expect(read({ model: text(256) }).model).toBe(text(256))
  })

  it.each([
    ['text', text(400)],
    ['a list', JSON.stringify([text(396)])],
    ['JSON that was cut off', JSON.stringify({ messages: text(400) }).slice(0, 400)],
    ['random bytes', Buffer.alloc(400, 0xff)],
  ])('counts %s by its bytes', (_, body) => {
    expect(read(body)).toEqual({ inputTokens: 100, maxOutputTokens: undefined, model: '' })
  })

  it('reads nothing from an empty body', () => {
    expect(read('')).toEqual({ inputTokens: 0, maxOutputTokens: undefined, model: '' })
  })

  it('reads deep nesting and huge lists', () => {
    const depth = 500_000
    const deep = `{"max_tokens": 7, "messages": ${'[{"content":'.repeat(depth)}"four"${'}]'.repeat(depth)}}`
    expect(read(deep).maxOutputTokens).toBe(7)
    const many = `{"messages": [${'{},'.repeat(1_000_000)}{"content": "four"}], "max_tokens": 9}`
    expect(read(many)).toEqual({ inputTokens: 1, maxOutputTokens: 9, model: '' })
  })

  it('reads a body in pieces of one byte', () => {
    const body = {
      model: 'm',
      messages: [{ role: 'user', content: '한국어 질문 "그대로"' }],
      max_tokens: 12,
      n: 2,
    }
    expect(read(body, { pieceBytes: 1 })).toEqual(read(body))
  })
})
