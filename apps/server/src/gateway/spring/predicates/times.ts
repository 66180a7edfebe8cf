import { invalid, required } from '../argument.js'
import { definePredicate } from '../predicate.js'
import { zonedDateTimeMs } from '../zoned-date-time.js'

export const After = definePredicate({
  example: 'After=2017-01-20T17:42:47.789-07:00[America/Denver]',
  args: { datetime: required(zonedDateTimeMs) },
  make: ({ datetime }) => ({ matches: ({ timeMs }) => timeMs > datetime }),
})

export const Before = definePredicate({
  example: 'Before=2017-01-20T17:42:47.789-07:00[America/Denver]',
  args: { datetime: required(zonedDateTimeMs) },
  make: ({ datetime }) => ({ matches: ({ timeMs }) => timeMs < datetime }),
})

export const Between = definePredicate({
  example: 'Between=2017-01-20T17:42:47.789-07:00, 2017-01-21T17:42:47.789-07:00',
  args: { datetime1: required(zonedDateTimeMs), datetime2: required(zonedDateTimeMs) },
  make({ datetime1, datetime2 }) {
    if (datetime1 >= datetime2) throw invalid('must be later than datetime1; swap the two', 'datetime2')
    return { matches: ({ timeMs }) => timeMs > datetime1 && timeMs < datetime2 }
  },
})
