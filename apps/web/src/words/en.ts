import { formatDuration } from '../format.js'
import type { LimiterState } from '../lab/state.js'
import { dashboardEn } from './en-dashboard.js'
import { enStories } from './en-stories.js'

export const en = {
  name: 'English',
  shell: {
    skip: 'Skip to the content',
    views: 'Views',
    toLight: 'Light colours',
    toDark: 'Dark colours',
    footer: 'The lab runs the real @tidegate/core in your browser. Nothing you do here is sent anywhere.',
  },
  views: { compare: 'Compare', stories: 'Stories', choose: 'Choose' },
  dashboard: dashboardEn,
  algorithms: {
    'fixed-window': 'Fixed window',
    'sliding-window-log': 'Sliding window log',
    'sliding-window-counter': 'Sliding window counter',
    'token-bucket': 'Token bucket',
    'leaky-bucket': 'Leaky bucket',
  },
  lab: {
    time: 'Time',
    play: 'Play',
    pause: 'Pause',
    stepBack: 'Back to the request before',
    stepOn: 'On to the next request',
    speed: 'Speed',
    arrivals: 'Arrivals',
    requests: 'requests',
    allowed: 'allowed',
    refused: 'refused',
    legend: 'Show or hide',
    naive: (name: string) => `${name}, naive`,
    worst: (count: number, limit: number) => `worst window ${count}, limit ${limit}`,
    limitIs: (limit: number, windowMs: number) => `The limit: ${limit} in ${formatDuration(windowMs)}`,
    laneChart: (name: string) => `${name}: requests allowed and refused over time, and its level`,
    linesChart: 'One line for each algorithm over time',
    inLastWindow: (windowMs: number) => `Admitted in the last ${formatDuration(windowMs)}, and the limit`,
    through: (binMs: number) => `Went on their way, per ${formatDuration(binMs)}`,
    cut: (count: number) => `Only the first ${count} requests are shown.`,
    drawLabel:
      'Draw requests: click or drag; with the keyboard, arrows left and right choose, up and down change',
    drawCell: (atMs: number, count: number) => `at ${formatDuration(atMs)}: ${count} requests`,
    inside: (state: LimiterState): string => {
      switch (state.kind) {
        case 'fixed-window':
          return `${state.count} of ${state.limit} in this window`
        case 'sliding-window-log':
          return `${state.count} of ${state.limit} in the log`
        case 'sliding-window-counter': {
          const weight = (1 - state.elapsed).toFixed(2)
          return `${state.prev} × ${weight} + ${state.curr}: ${state.used} of ${state.limit}`
        }
        case 'token-bucket':
          return `${state.tokens.toFixed(1)} of ${state.capacity} tokens`
        case 'leaky-bucket':
          return state.level > 0
            ? `${state.level.toFixed(1)} of ${state.capacity}; the next waits ${formatDuration(state.waitMs)}`
            : `empty, room for ${state.capacity}`
      }
    },
  },
  stories: {
    title: 'Eight stories',
    lead: 'What goes wrong, what looks wrong and is not, and why. The numbers in the texts are those of the run below them.',
    list: 'Stories',
    notice: 'To notice',
    texts: enStories,
  },
  choose: {
    title: 'Which one do I need?',
    lead: 'At most four questions. They end in a policy to take away.',
    yes: 'Yes',
    no: 'No',
    result: 'The answer',
    questions: {
      bursts: {
        ask: 'May a client send many at once, as long as its average holds?',
        why: 'Pages that load ten things at a time, apps that come back from sleep, batch jobs.',
      },
      even: {
        ask: 'Must whatever is behind the limit be reached at an even pace?',
        why: 'A printer, a partner with a strict quota, a queue of slow jobs. Requests are told how long to wait.',
      },
      simple: {
        ask: 'Is it a quota that people should be able to name, and is it fine if twice as much passes around a boundary?',
        why: '"1,000 a day, new at midnight UTC". Nothing is simpler or cheaper.',
      },
      exact: {
        ask: 'Must there never be more than the limit in any window, provably?',
        why: 'Logins, payments, text messages. It remembers every request, so the limit should be small.',
      },
    },
    because: {
      'token-bucket': 'A burst up to the capacity, then the steady rate. The usual choice for an API.',
      'leaky-bucket':
        'Takes in up to the capacity and says how long to hold each request, so that they leave evenly.',
      'fixed-window':
        'One count that starts again with every window. Remember the boundary: twice the limit can pass around it.',
      'sliding-window-log':
        'The time of every unit is kept: never more than the limit, wherever you lay the window.',
      'sliding-window-counter':
        'Two counts that come close to the log, for any limit. The everyday limit of so many per minute.',
    },
    keys: 'Keys (clients)',
    yamlNote: 'tidegate.yaml, for: tidegate start --config tidegate.yaml',
    typescriptNote: 'In your own process, without the service',
    curlNote: 'Asking the service that has this file',
    memory: 'Memory',
    inProcess: 'In the process',
    inRedis: 'In Redis',
    memoryNote: (keys: string) =>
      `About, for ${keys} keys that all have used up their limit, with short names. Worked out from docs/benchmarks.md, where the runs are.`,
    copy: 'Copy',
    copied: 'Copied',
    copyWhat: (what: string) => `Copy: ${what}`,
  },
  compare: {
    title: 'One stream of requests, five ways to limit it',
    lead: 'Choose the traffic and the numbers, then hold the clock: play it, drag it, or step from request to request.',
    traffic: 'Traffic',
    policy: 'Numbers',
    window: 'Window',
    sameAsLimit: '0: as the limit',
    kinds: {
      steady: 'Steady',
      bursts: 'Bursts',
      boundary: 'Boundary attack',
      ramp: 'Ramp',
      random: 'Random',
      drawn: 'Your own',
    },
    kindNotes: {
      steady: 'One request after the other, always as far apart.',
      bursts: 'Many requests in the same moment, then silence.',
      boundary: 'As many as allowed right before a window ends, and again right after.',
      ramp: 'It starts with nothing and grows evenly.',
      random: 'Independent requests, as from many people. The same seed gives the same traffic.',
      drawn: 'Click or drag in the row of arrivals. With the keyboard: arrows, Page Up, Page Down, Delete.',
    },
    numbers: {
      limit: 'Limit',
      capacity: 'Bucket capacity',
      windows: 'Windows shown',
      rate: 'Requests per window',
      size: 'Requests per burst',
      every: 'Every (% of window)',
      lead: 'Within (% of window)',
      seed: 'Seed',
    },
    windows: { '1s': '1 second', '10s': '10 seconds', '1m': '1 minute', '1h': '1 hour', '1d': '1 day' },
  },
}

/** Every text of the page. The compiler holds the other languages to the same keys and the same numbers. */
export type Words = typeof en
