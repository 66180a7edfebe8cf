/** The usage that a model reports; undefined for numbers that it does not report. */
export interface ReportedUsage {
  readonly input: number | undefined
  readonly cached: number | undefined
  readonly output: number | undefined
}

/**
 * Reads a `usage` object of OpenAI or Anthropic. OpenAI's input includes cached tokens; Anthropic's does not, and its
 * tokens read from and written to the cache are added here.
 */
export function readUsage(usage: unknown): ReportedUsage {
  const fields = recordOf(usage)
  const cacheReads = countOf(fields.cache_read_input_tokens)
  const cacheWrites = countOf(fields.cache_creation_input_tokens)
  const uncached = countOf(fields.prompt_tokens) ?? countOf(fields.input_tokens)
  const details = recordOf(fields.prompt_tokens_details ?? fields.input_tokens_details)
  return {
    input: uncached === undefined ? undefined : uncached + (cacheReads ?? 0) + (cacheWrites ?? 0),
    cached: cacheReads ?? countOf(details.cached_tokens),
    output: countOf(fields.completion_tokens) ?? countOf(fields.output_tokens),
  }
}

/** Streams report sums that grow: the largest of each is the last. */
export function mergeUsage(a: ReportedUsage, b: ReportedUsage): ReportedUsage {
  return {
    input: larger(a.input, b.input),
    cached: larger(a.cached, b.cached),
    output: larger(a.output, b.output),
  }
}

const MAX_COUNT = 1_000_000_000

function countOf(value: unknown): number | undefined {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT
  return isCount ? value : undefined
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function larger(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return Math.max(a, b)
}
