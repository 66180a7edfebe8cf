const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses the rate of a bucket: units per second, or text such as `100/1m`. Returns undefined for other text. */
export function parseRate(rate: number | string): { count: number; periodMs: number } | undefined {
  if (typeof rate === 'number') return { count: rate, periodMs: 1000 }
  const [, count, amount, unit = ''] = /^(\d+(?:\.\d+)?)\/(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(rate) ?? []
  const unitMs = UNIT_MS[unit]
  return unitMs === undefined ? undefined : { count: Number(count), periodMs: Number(amount) * unitMs }
}
