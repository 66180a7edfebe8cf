import { formatCount, formatsFor } from './format.js'

const { duration, period } = formatsFor('en')

export const enLeases = {
  algorithm: 'Algorithm',
  numbers: {
    rate: 'Requests per window',
    seed: 'Seed',
    limit: 'Limit',
    processes: 'Processes',
    maxAge: 'Max age (%)',
    share: 'Share (%)',
  },
  maxAgeHint: (maxAgeMs: number) => `of the window: ${period(maxAgeMs)}`,
  largest: (units: number) => `of the limit: up to ${formatCount(units)} units per lease`,
  tooSmall: 'of the limit: too little for a lease',
  note: 'The processes get the requests in turn. In this simulation a store call takes no time, and denials are not cached.',
  prices: {
    'fixed-window': 'Units count the same as without a lease, and unspent units are returned.',
    'sliding-window-counter': 'Units count the same as without a lease, and unspent units are returned.',
    'sliding-window-log':
      'With a lease, units count for the window and the max age, so fewer requests are allowed.',
    'token-bucket':
      'With a lease, the capacity is smaller by the tokens that are refilled within the max age, and unspent units are lost.',
  },
  exact: 'Without a lease',
  leased: 'With a lease',
  inWindow: (count: number, limit: number) =>
    count > limit
      ? `Limit exceeded: ${formatCount(count)} of ${formatCount(limit)}`
      : `Limit held: at most ${formatCount(count)} of ${formatCount(limit)} in a window`,
  burst: (count: number, capacity: number) =>
    count > capacity
      ? `Limit exceeded: a burst of ${formatCount(count)}, capacity ${formatCount(capacity)}`
      : `Limit held: largest burst ${formatCount(count)}, capacity ${formatCount(capacity)}`,
  inStore: 'Units left in the store',
  inHand: 'Units in hand',
  checks: 'Checks',
  calls: 'Store calls',
  callsChart: 'Store calls and checks over time',
  callsPerBin: (binMs: number) => `Calls and checks per ${duration(binMs)}`,
  callCount: (calls: number) => `${formatCount(calls)} calls`,
  checkCount: (checks: number) => `${formatCount(checks)} checks`,
  perCheck: 'store calls per check; 1.00 without a lease',
  handsNote: (most: number) => `At most ${formatCount(most)} per process`,
  handsChart: 'Units in hand of each process over time',
  byProcess: 'Units in hand, by process',
  process: (number: number) => `Process ${number}`,
}
