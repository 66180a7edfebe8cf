import { describe, expect, it } from 'vitest'
import { createLlmResponseReader } from './llm-response.js'

const SSE = 'text/event-stream; charset=utf-8'
const JSON_TYPE = 'application/json'

function read(contentType: string, body: string, pieceBytes = Number.POSITIVE_INFINITY) {
  const reader = createLlmResponseReader(contentType)
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.write(bytes.subarray(at, at + pieceBytes))
  return reader.end()
}

const events = (...values: readonly unknown[]) =>
  values.map((value) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`).join('')

const chatChunk = (content: string, usage?: object | null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'gpt-5',
  choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }],
  ...(usage === undefined ? {} : { usage }),
})

const messageStart = {
  type: 'message_start',
  message: { id: 'msg_1', role: 'assistant', content: [], usage: { input_tokens: 25, output_tokens: 1 } },
}
const textDelta = (text: string) => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text },
})

describe('a JSON response', () => {
  it('has the usage of an OpenAI chat completion, with cached tokens', () => {
    const body = {
      choices: [{ message: { role: 'assistant', content: 'Hello there' } }],
      usage: {
        prompt_tokens: 120,
        completion_tokens: 30,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 64 },
      },
    }
    expect(read(JSON_TYPE, JSON.stringify(body))).toEqual({
      hasUsage: true,
      input: 120,
      cached: 64,
      output: 30,
      isCutOff: false,
      isBackground: false,
    })
  })

  it('has the usage of an OpenAI response', () => {
    const body = {
      output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }],
      usage: { input_tokens: 36, input_tokens_details: { cached_tokens: 5 }, output_tokens: 87 },
    }
    expect(read(JSON_TYPE, JSON.stringify(body))).toEqual({
      hasUsage: true,
      input: 36,
      cached: 5,
      output: 87,
      isCutOff: false,
      isBackground: false,
    })
  })

  it('has the usage of embeddings, for a body of any length', () => {
    const vector = Array.from({ length: 100_000 }, (_, i) => i / 7)
    const body = { data: [{ embedding: vector }], usage: { prompt_tokens: 8, total_tokens: 8 } }
    expect(read(JSON_TYPE, JSON.stringify(body), 65_536)).toMatchObject({
      hasUsage: true,
      input: 8,
      output: 0,
    })
  })

  it('has the usage of an Anthropic message: tokens read from and written to the cache are input', () => {
    const body = {
      content: [{ type: 'text', text: 'Hi' }],
      usage: {
        input_tokens: 10,
        cache_read_input_tokens: 1000,
        cache_creation_input_tokens: 200,
        output_tokens: 50,
      },
    }
    expect(read(JSON_TYPE, JSON.stringify(body))).toEqual({
      hasUsage: true,
      input: 1210,
      cached: 1000,
      output: 50,
      isCutOff: false,
      isBackground: false,
    })
  })

  it('is estimated from its text if it has no usage', () => {
    const chat = {
      choices: [{ message: { content: 'x'.repeat(41) } }, { message: { content: 'y'.repeat(8) } }],
    }
    expect(read(JSON_TYPE, JSON.stringify(chat))).toMatchObject({
      hasUsage: false,
      input: undefined,
      output: 13,
    })
    const message = {
      id: 'msg_1',
      content: [
        { type: 'text', text: 'x'.repeat(20) },
        { type: 'tool_use', name: 'add', input: { a: 'x'.repeat(20) } },
      ],
    }
    expect(read(JSON_TYPE, JSON.stringify(message)).output).toBe(10)
    const response = { output: [{ content: [{ text: 'x'.repeat(20) }] }, { arguments: 'x'.repeat(20) }] }
    expect(read(JSON_TYPE, JSON.stringify(response)).output).toBe(10)
  })

  it('is estimated from the text sent if it was cut off', () => {
    const body = JSON.stringify({
      choices: [{ message: { content: 'x'.repeat(400) } }],
      usage: { completion_tokens: 9 },
    })
    const sent = body.slice(0, body.indexOf('xxx') + 200)
    expect(read(JSON_TYPE, sent)).toMatchObject({ hasUsage: false, output: 50 })
  })

  it('ignores a usage that the model wrote itself, and numbers that cannot be token counts', () => {
    const body = {
      content: [{ type: 'tool_use', input: { usage: { input_tokens: 0, output_tokens: 0 } } }],
      usage: { input_tokens: 70, output_tokens: 80 },
    }
    expect(read(JSON_TYPE, JSON.stringify(body))).toMatchObject({ input: 70, output: 80 })
    const forged = {
      content: [{ type: 'tool_use', input: { usage: { input_tokens: 0, output_tokens: 0 } } }],
    }
    expect(read(JSON_TYPE, JSON.stringify(forged)).hasUsage).toBe(false)
    for (const bad of [-1, 1.5, '7', null, 1e300]) {
      expect(
        read(JSON_TYPE, JSON.stringify({ usage: { prompt_tokens: bad, completion_tokens: bad } })).hasUsage,
      ).toBe(false)
    }
    expect(read(JSON_TYPE, '{"usage": [[').hasUsage).toBe(false)
    expect(read(JSON_TYPE, '{"usage": {,}}').hasUsage).toBe(false)
    expect(read(JSON_TYPE, 'not JSON').hasUsage).toBe(false)
  })
})

describe('a stream', () => {
  it('has the usage of the last chunk of an OpenAI chat completion', () => {
    const usage = { prompt_tokens: 14, completion_tokens: 3, total_tokens: 17 }
    const stream = events(chatChunk('Hel', null), chatChunk('lo', null), { choices: [], usage }, '[DONE]')
    for (const size of [1, 2, 3, 7, 64, 10_000]) {
      expect(read(SSE, stream, size)).toEqual({
        hasUsage: true,
        input: 14,
        cached: undefined,
        output: 3,
        isCutOff: false,
        isBackground: false,
      })
    }
  })

  it('has the usage that is reported with every chunk', () => {
    const chunks = [1, 2, 3].map((n) => chatChunk('abcd', { prompt_tokens: 9, completion_tokens: n }))
    expect(read(SSE, events(...chunks, '[DONE]'))).toMatchObject({ input: 9, output: 3 })
  })

  it('has the usage of response.completed, and counts text once', () => {
    const text = 'x'.repeat(40)
    const deltas = ['x'.repeat(25), 'x'.repeat(15)].map((delta) => ({
      type: 'response.output_text.delta',
      delta,
    }))
    const repeats = [
      { type: 'response.output_text.done', text },
      { type: 'response.content_part.done', part: { type: 'output_text', text } },
      { type: 'response.output_item.done', item: { content: [{ type: 'output_text', text }] } },
    ]
    const completed = {
      type: 'response.completed',
      response: { output: [{ content: [{ text }] }], usage: { input_tokens: 37, output_tokens: 11 } },
    }
    expect(read(SSE, events(...deltas, ...repeats, completed))).toMatchObject({ input: 37, output: 11 })
    expect(read(SSE, events(...deltas, ...repeats))).toMatchObject({ hasUsage: false, output: 10 })
  })

  it('has the usage of message_start and message_delta of Anthropic', () => {
    const delta = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 15 } }
    const stream = events(messageStart, textDelta('한국어 '), textDelta('답변'), delta, {
      type: 'message_stop',
    })
    for (const size of [1, 4, 1000]) {
      expect(read(SSE, stream, size)).toMatchObject({ hasUsage: true, input: 25, output: 15 })
    }
  })

  it('counts the text since the last report if it was cut off', () => {
    const stream = events(messageStart, textDelta('x'.repeat(100)), textDelta('x'.repeat(100)))
    expect(read(SSE, stream)).toMatchObject({ hasUsage: true, input: 25, output: 51 })
    // In the middle of an event.
    expect(read(SSE, stream.slice(0, -54))).toMatchObject({ input: 25, output: 39 })
  })

  it('is estimated from its text, thoughts and tool calls if it has no usage', () => {
    expect(read(SSE, events(chatChunk('Hello '), chatChunk('world!'), '[DONE]'))).toEqual({
      hasUsage: false,
      input: undefined,
      cached: undefined,
      output: 3,
      isCutOff: false,
      isBackground: false,
    })
    const call = { choices: [{ delta: { tool_calls: [{ function: { arguments: 'x'.repeat(16) } }] } }] }
    const thought = { choices: [{ delta: { reasoning_content: 'x'.repeat(16) } }] }
    expect(read(SSE, events(call, thought)).output).toBe(8)
    const thinking = { delta: { type: 'thinking_delta', thinking: 'x'.repeat(16) } }
    const json = { delta: { type: 'input_json_delta', partial_json: 'x'.repeat(16) } }
    expect(read(SSE, events(thinking, json)).output).toBe(8)
  })

  it.each([
    [
      'a custom tool call',
      { tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'sql', input: 'x'.repeat(16) } }] },
    ],
    [
      'the transcript of a recording',
      { audio: { id: 'a', data: 'x'.repeat(5000), transcript: 'x'.repeat(16) } },
    ],
    [
      'a summary of thoughts',
      { reasoning_details: [{ type: 'reasoning.summary', summary: 'x'.repeat(16) }] },
    ],
    [
      'a property of a tool call',
      { tool_calls: [{ function: { name: 'f', arguments: { name: 'x'.repeat(16) } } }] },
    ],
    ['an unknown property', { role: 'assistant', new_text: { parts: ['x'.repeat(16)] } }],
  ])('is estimated from %s if it has no usage', (_, delta) => {
    expect(read(SSE, events({ id: 'chatcmpl-1', model: 'gpt-5', choices: [{ delta }] })).output).toBe(4)
    expect(read(JSON_TYPE, JSON.stringify({ choices: [{ message: delta }] })).output).toBe(4)
  })

  it('counts an image in base64 as at most 1,600 tokens', () => {
    const images = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'x'.repeat(50_000)}` } }]
    expect(read(SSE, events({ choices: [{ delta: { images } }] })).output).toBe(1600)
  })

  it('is estimated from the content blocks of Anthropic if it has no usage', () => {
    const block = { type: 'server_tool_use', id: 's', name: 'f', input: { name: 'x'.repeat(16) } }
    expect(read(SSE, events({ type: 'content_block_start', content_block: block })).output).toBe(4)
    const citation = { type: 'citations_delta', citation: { type: 'c', cited_text: 'x'.repeat(16) } }
    expect(read(SSE, events({ type: 'content_block_delta', delta: citation })).output).toBe(4)
  })

  it('ignores broken events', () => {
    const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }
    expect(read(SSE, events('{"choices": [', ']]]]', '{"usage": {"a', usage))).toMatchObject({
      input: 1,
      output: 2,
    })
  })

  it('does not read text as usage', () => {
    const text = '{"usage": {"prompt_tokens": 1, "completion_tokens": 1}}'
    expect(read(SSE, events(chatChunk(text))).hasUsage).toBe(false)
  })
})

describe('a response in the background', () => {
  const queued = {
    id: 'resp_1',
    object: 'response',
    status: 'queued',
    background: true,
    output: [],
    usage: null,
  }

  it('is recognized by its state', () => {
    const { background, ...byStatus } = queued
    for (const body of [queued, byStatus, { ...queued, status: 'in_progress' }]) {
      expect(read(JSON_TYPE, JSON.stringify(body))).toMatchObject({ hasUsage: false, isBackground: true })
      const created = { type: 'response.created', response: body }
      expect(read(SSE, events(created)).isBackground).toBe(true)
    }
  })

  it('is not confused with other responses', () => {
    const body = { ...queued, status: 'completed', background: false }
    expect(read(JSON_TYPE, JSON.stringify(body)).isBackground).toBe(false)
    const created = { type: 'response.created', response: { ...body, status: 'in_progress' } }
    expect(read(SSE, events(created)).isBackground).toBe(false)
    const written = { content: [{ type: 'tool_use', input: { status: 'queued', background: true } }] }
    expect(read(JSON_TYPE, JSON.stringify(written)).isBackground).toBe(false)
  })
})

describe('an output that reached its maximum', () => {
  it.each([
    ['a chat completion', JSON_TYPE, { choices: [{ finish_reason: 'length', message: { content: 'Hi' } }] }],
    ['a message', JSON_TYPE, { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'max_tokens' }],
    ['a response', JSON_TYPE, { output: [], incomplete_details: { reason: 'max_output_tokens' } }],
    ['a stream of chat completions', SSE, { choices: [{ delta: {}, finish_reason: 'length' }] }],
    ['a stream of a message', SSE, { type: 'message_delta', delta: { stop_reason: 'max_tokens' } }],
    ['a stream of a response', SSE, { response: { incomplete_details: { reason: 'max_output_tokens' } } }],
  ])('is cut off: %s', (_, type, value) => {
    const textOf = (body: object) => (type === SSE ? events(body, '[DONE]') : JSON.stringify(body))
    expect(read(type, textOf(value)).isCutOff).toBe(true)
    const ended = JSON.parse(JSON.stringify(value).replace(/length|max_(output_)?tokens/, 'stop'))
    expect(read(type, textOf(ended)).isCutOff).toBe(false)
  })

  it('is not taken from what the model wrote', () => {
    const body = {
      content: [{ type: 'tool_use', input: { stop_reason: 'max_tokens', finish_reason: 'length' } }],
    }
    expect(read(JSON_TYPE, JSON.stringify(body)).isCutOff).toBe(false)
  })
})

describe('another response', () => {
  it('has no usage', () => {
    const nothing = {
      hasUsage: false,
      input: undefined,
      cached: undefined,
      output: undefined,
      isCutOff: false,
      isBackground: false,
    }
    expect(read('audio/mpeg', 'x'.repeat(1000))).toEqual(nothing)
    expect(read('', '{"usage": {"prompt_tokens": 1}}')).toEqual(nothing)
  })
})
