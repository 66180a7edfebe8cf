import { describe, expect, it } from 'vitest'
import { settlementOf } from './settlement.js'

const request = { inputTokens: 100, maxOutputTokens: 500, model: 'm' }
const reported = {
  status: 200,
  hasUsage: true,
  input: 90,
  cached: 20,
  output: 30,
  isCutOff: false,
  isBackground: false,
}
const estimated = { ...reported, hasUsage: false, input: undefined, cached: undefined, output: 12 }
const unknown = { ...estimated, output: undefined }

describe('settlementOf', () => {
  it('takes the reported usage', () => {
    expect(settlementOf(request, reported, 'complete')).toEqual({
      usage: { input: 90, cached: 20, output: 30 },
    })
    expect(settlementOf(request, { ...reported, status: 500 }, 'complete')).toMatchObject({
      usage: { output: 30 },
    })
  })

  it('takes the estimated input and the text sent if no usage was reported', () => {
    expect(settlementOf(request, estimated, 'complete')).toEqual({
      usage: { input: 100, cached: 0, output: 12 },
    })
    expect(settlementOf(request, estimated, 'cut-off')).toEqual({
      usage: { input: 100, cached: 0, output: 12 },
    })
  })

  it('keeps the reserved units if the client disconnected before the response', () => {
    expect(settlementOf(request, undefined, 'cut-off')).toBe('as-reserved')
  })

  it('keeps the reserved units if the response is not text', () => {
    expect(settlementOf(request, unknown, 'complete')).toBe('as-reserved')
  })

  it('keeps the reserved units if the response has an unknown format', () => {
    expect(settlementOf(request, { ...estimated, output: 0 }, 'complete')).toBe('as-reserved')
    expect(settlementOf(request, { ...estimated, output: 0 }, 'cut-off')).toMatchObject({
      usage: { input: 100, output: 0 },
    })
  })

  it('takes the maximum if the model goes on in the background', () => {
    const queued = { ...estimated, output: 0, isBackground: true }
    expect(settlementOf(request, queued, 'complete')).toBe('at-maximum')
    expect(settlementOf(request, { ...queued, output: 12 }, 'cut-off')).toBe('at-maximum')
    expect(settlementOf(request, { ...reported, isBackground: true }, 'complete')).toMatchObject({
      usage: { output: 30 },
    })
    expect(settlementOf(request, { ...queued, status: 400 }, 'complete')).toBe('cancel')
  })

  it('cancels if the model did not run', () => {
    expect(settlementOf(request, undefined, 'failed')).toBe('cancel')
    for (const status of [400, 401, 429, 500, 503]) {
      expect(settlementOf(request, { ...unknown, status }, 'complete')).toBe('cancel')
      expect(settlementOf(request, { ...estimated, status, output: 0 }, 'cut-off')).toBe('cancel')
    }
  })
})
