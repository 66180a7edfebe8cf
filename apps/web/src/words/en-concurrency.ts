import { formatCount, formatsFor } from './format.js'

const { period } = formatsFor('en')

export const enConcurrency = {
  numbers: {
    rate: 'Requests per minute',
    size: 'Requests per burst',
    every: 'Every (s)',
    seed: 'Seed',
    duration: 'Request duration (ms)',
    limit: 'Slots',
  },
  limitIs: (limit: number) => `Limit: ${formatCount(limit)} at the same time`,
  average: (rate: number, durationMs: number, average: number) =>
    `${formatCount(rate)}\u00a0/\u00a0min × ${period(durationMs)} = ${formatCount(Number(average.toFixed(1)))} requests in flight on average without a limit.`,
  slotsInUse: 'Slots in use',
  inUse: (count: number, limit: number) => `${count} of ${limit} slots in use`,
  most: (count: number, limit: number) => `Peak in flight ${count}, limit ${limit}`,
}
