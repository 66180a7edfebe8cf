import type { AlgorithmState } from '../simulation/state.js'
import type { CalendarUnit } from '../simulation/windows.js'
import { enConcurrency } from './en-concurrency.js'
import { dashboardEn } from './en-dashboard.js'
import { enLeases } from './en-leases.js'
import { enStories } from './en-stories.js'
import { formatCount, formatsFor } from './format.js'

const format = formatsFor('en')

const durations = {
  '1s': '1 second',
  '10s': '10 seconds',
  '30s': '30 seconds',
  '1m': '1 minute',
  '5m': '5 minutes',
  '15m': '15 minutes',
  '1h': '1 hour',
  '1d': '1 day',
}

const worst = (count: number, limit: number) =>
  `Worst window ${formatCount(count)}, limit ${formatCount(limit)}`

export const en = {
  name: 'English',
  format,
  shell: {
    skip: 'Skip to content',
    views: 'Views',
    toLight: 'Light theme',
    toDark: 'Dark theme',
    footer: 'The lab runs the real @tidegate/core in your browser. Nothing is sent anywhere.',
    links: 'Links',
    apiReference: 'API reference',
    install: 'Install:',
    loadFailed: 'This part of the page could not be loaded. Reload the page.',
  },
  views: { compare: 'Compare', stories: 'Stories', choose: 'Choose' },
  dashboard: dashboardEn,
  fields: {
    range: (min: number, max: number) => `Enter a number from ${formatCount(min)} to ${formatCount(max)}.`,
  },
  copy: {
    copy: 'Copy',
    copied: 'Copied',
    label: (title: string) => `Copy ${title}`,
  },
  algorithms: {
    'fixed-window': 'Fixed window',
    'sliding-window-log': 'Sliding window log',
    'sliding-window-counter': 'Sliding window counter',
    'token-bucket': 'Token bucket',
    'leaky-bucket': 'Leaky bucket',
    concurrency: 'Concurrency',
  },
  lab: {
    time: 'Time',
    play: 'Play',
    pause: 'Pause',
    stepBack: 'Previous request',
    stepForward: 'Next request',
    speed: 'Speed',
    arrivals: 'Requests',
    /** Follows the number of requests. */
    requests: ' in total',
    perBin: (binMs: number) => `Requests per ${format.duration(binMs)}`,
    allowed: 'allowed',
    denied: 'denied',
    /** The marks of the charts, for the legend. */
    marks: {
      allowed: 'Allowed',
      denied: 'Denied',
      state: 'State',
      limit: 'Limit',
      windowStart: 'Window start',
      blocked: 'Blocked',
    },
    blockedFor: (ms: number) => `Blocked for ${format.duration(ms)}`,
    chartLegend: 'Legend',
    levels: {
      'fixed-window': 'Count in window',
      'sliding-window-log': 'Entries in log',
      'sliding-window-counter': 'Estimated count',
      'token-bucket': 'Tokens left',
      'leaky-bucket': 'Requests queued',
    },
    legend: 'Show or hide algorithms',
    naive: (name: string) => `${name} (naive)`,
    /** The most requests in any window so far, and the bound of the algorithm. */
    worst: {
      'fixed-window': worst,
      'sliding-window-log': worst,
      'sliding-window-counter': worst,
      'token-bucket': (count: number, bound: number) =>
        `Worst window ${formatCount(count)}, capacity + refill ${formatCount(bound)}`,
      'leaky-bucket': (count: number, bound: number) =>
        `Worst window ${formatCount(count)}, capacity + leak ${formatCount(bound)}`,
    },
    limitIs: (limit: number, windowMs: number) => `Limit: ${format.limit(limit, windowMs)}`,
    limitInCalendar: (limit: number, unit: CalendarUnit, timeZone: string) =>
      `Limit: ${format.calendarLimit(limit, unit)}, ${timeZone}`,
    laneChart: (name: string) => `${name}: allowed and denied requests over time, and its state`,
    linesChart: 'One line per algorithm over time',
    inLastWindow: (windowMs: number) => `Allowed in the last ${format.period(windowMs)}, vs limit`,
    limitLine: (limit: number) => `Limit ${formatCount(limit)}`,
    released: (binMs: number) => `Released per ${format.period(binMs)}`,
    cut: (count: number) => `Only the first ${formatCount(count)} requests are shown.`,
    drawLabel: 'Draw requests: click or drag. Keyboard: left and right arrows select, up and down change',
    drawCell: (atMs: number, count: number) => `at ${format.duration(atMs)}: ${count} requests`,
    inside: (state: AlgorithmState): string => {
      switch (state.kind) {
        case 'fixed-window':
          return state.elapsed === undefined
            ? `No window open, limit ${formatCount(state.limit)}`
            : `${formatCount(state.count)} of ${formatCount(state.limit)} in this window`
        case 'sliding-window-log':
          return `${formatCount(state.count)} of ${formatCount(state.limit)} in the log`
        case 'sliding-window-counter': {
          const weight = (1 - state.elapsed).toFixed(2)
          return `${formatCount(state.prev)} × ${weight} + ${formatCount(state.curr)}: ${formatCount(state.used)} of ${formatCount(state.limit)}`
        }
        case 'token-bucket':
          return `${state.tokens.toFixed(1)} of ${formatCount(state.capacity)} tokens`
        case 'leaky-bucket':
          return state.level > 0
            ? `${state.level.toFixed(1)} of ${state.capacity}; next delay ${format.duration(state.waitMs)}`
            : `Empty, capacity ${state.capacity}`
      }
    },
  },
  stories: {
    title: 'Eight stories',
    lead: 'Common surprises with rate limits, and their causes. The numbers in each text come from the run below it.',
    list: 'Stories',
    hint: 'Hint:',
    next: (title: string) => `Next: ${title}`,
    texts: enStories,
  },
  choose: {
    title: 'Which limit do I need?',
    lead: 'A few questions, then a policy you can copy.',
    use: 'What do you want to limit?',
    uses: {
      requests: {
        text: 'Requests per unit of time',
        examples: 'An API, a web page, a webhook. Limits the number of requests per second, minute or hour.',
      },
      attempts: {
        text: 'Failed attempts',
        examples: '"5 failed logins in 15 minutes", wrong codes, wrong coupon numbers.',
      },
      quota: {
        text: 'A quota per day or month',
        examples:
          '"1,000 reports a month", a free plan, a daily budget. The count resets at midnight in a time zone.',
      },
      'in-flight': {
        text: 'Requests in flight',
        examples: 'Uploads, reports, calls to a slow API. Limits how many run at the same time.',
      },
      tokens: {
        text: 'A cost that is known later',
        examples:
          'Tokens of a language model, money, bytes. The cost is known when the response is complete.',
      },
    },
    yes: 'Yes',
    no: 'No',
    result: 'Recommended policy',
    questions: {
      bursts: {
        text: 'Are short bursts fine as long as the average stays within the limit?',
        examples: 'Pages that load ten resources at once, apps that wake from sleep, batch jobs.',
      },
      even: {
        text: 'Does the backend need requests at a steady pace?',
        examples:
          'A printer, a partner with a strict quota, a queue of slow jobs. Each allowed request gets a delay.',
      },
      simple: {
        text: 'Is it a simple calendar quota, where up to twice the limit around the reset is acceptable?',
        examples: '"1,000 a day, reset at midnight UTC". The simplest and cheapest algorithm.',
      },
      exact: {
        text: 'Must the limit hold in every window, wherever the window starts?',
        examples:
          'Logins, payments, text messages. The algorithm stores every request, so keep the limit small.',
      },
    },
    because: {
      'token-bucket': 'Bursts up to the capacity, then a steady rate. The usual choice for an API.',
      'leaky-bucket':
        'Accepts up to the capacity and returns a delay for each request, so that they leave at an even pace.',
      'fixed-window':
        'One counter that restarts with every window. Up to twice the limit can pass around the boundary.',
      'sliding-window-log':
        'Stores the time of every unit, so the limit holds in every window, wherever it starts.',
      'sliding-window-counter':
        'Two counters that approximate the log, for any limit. A good default for limits such as "100 per minute".',
      attempts:
        'A fixed window that starts with the first attempt of each key. With a block, a denied key stays denied for longer than the window.',
      quota: 'A fixed window aligned to the calendar: the count resets at midnight in the time zone.',
      concurrency: 'Each request holds a slot while it runs. The slot of a crashed process expires.',
      tokens: 'Reserve an estimate before the work, and settle it with the actual cost.',
    },
    blockFor: 'Block when denied',
    noBlock: 'No block',
    ttl: 'Slot expires after',
    tryIt: 'Try it in the lab',
    keys: 'Keys (clients)',
    yamlNote: 'Save as tidegate.yaml, then run: tidegate start --config tidegate.yaml',
    typescriptNote: 'In your own process, without the service',
    curlNotes: {
      requests: 'Send a check to a service that uses this file',
      attempts: 'Send a check to a service that uses this file',
      quota: 'Send a check to a service that uses this file',
      'in-flight': 'Acquire a slot from a service that uses this file, then release it',
      tokens: 'Reserve an estimate at a service that uses this file, then settle the actual cost',
    },
    memory: 'Memory',
    inProcess: 'In process',
    inRedis: 'In Redis',
    memoryNote: (keys: string) =>
      `Estimate for ${keys} keys at their limit, with short names (see docs/benchmarks.md).`,
    memoryTooLarge: 'Most servers have less memory.',
    counterInstead: (size: string) => `A sliding window counter needs ${size} in Redis.`,
  },
  leases: enLeases,
  concurrency: enConcurrency,
  compare: {
    show: 'Comparisons',
    shown: {
      algorithms: {
        label: 'Algorithms',
        title: 'Five algorithms, the same requests',
        lead: 'Choose traffic and limits, then control the clock: play, drag, or step from request to request.',
      },
      leases: {
        label: 'Leases',
        title: 'One limit, fewer store calls',
        lead: 'With a lease, a process takes units of a busy key in advance and decides the next checks without the store. The limit still holds.',
      },
      concurrency: {
        label: 'Concurrency',
        title: 'Requests in flight',
        lead: 'A request holds a slot while it runs. While all slots are in use, further requests are denied.',
      },
    },
    traffic: 'Traffic',
    settings: 'Settings',
    window: 'Window',
    sameAsLimit: 'Default: the limit',
    start: 'Window start',
    starts: { epoch: 'Clock-aligned', 'first-request': 'First request' },
    timeZone: 'Time zone',
    countDenied: 'Count denied requests',
    clear: 'Clear the drawing',
    policyNote:
      'The window start and calendar windows apply to the fixed window only. Counting denied requests applies to the three window algorithms, and blocking to all five.',
    kinds: {
      steady: 'Steady',
      bursts: 'Bursts',
      boundary: 'Boundary attack',
      ramp: 'Ramp',
      random: 'Random',
      drawn: 'Draw your own',
    },
    kindNotes: {
      steady: 'Evenly spaced requests.',
      bursts: 'Many requests at the same moment, then silence.',
      boundary: 'A full limit of requests right before a window ends, and again right after.',
      ramp: 'Starts at zero and grows steadily.',
      random: 'Independent requests from many clients. The same seed gives the same traffic.',
      drawn: 'Click or drag in the Requests row. Keyboard: arrows, Page Up, Page Down, Delete.',
    },
    numbers: {
      limit: 'Limit',
      capacity: 'Bucket capacity',
      block: 'Block (% of window)',
      windows: 'Windows shown',
      rate: 'Requests per window',
      size: 'Requests per burst',
      every: 'Interval (% of window)',
      lead: 'Length (% of window)',
      seed: 'Seed',
    },
    durations,
    windows: {
      ...durations,
      day: 'Calendar day',
      week: 'Calendar week',
      month: 'Calendar month',
      year: 'Calendar year',
    },
  },
}

/** All texts of the page. The compiler requires the same keys and parameters in every language. */
export type Words = typeof en
