import { ManualClock } from '../src/clock.js'
import type { FailureEvent } from '../src/resilience/events.js'
import { type FailureOptions, TEST_ENVIRONMENT, withFallback } from '../src/resilience/index.js'
import type { Store, StoreTraits } from '../src/store/store.js'
import { FallibleStore } from './fallible-store.js'
import { ManualTimers } from './manual-timers.js'

export const START_MS = 1_800_000_000_000

/** `withFallback` around any store, with manual time and a list of its events. */
export function guard(store: Store, options: FailureOptions = {}, environment = createEnvironment()) {
  const events: FailureEvent[] = []
  const guarded = withFallback(store, {
    onEvent: (event) => events.push(event),
    ...options,
    [TEST_ENVIRONMENT]: environment,
  } as FailureOptions)
  const { clock, timers } = environment
  return {
    guarded,
    events,
    timers,
    environment,
    /** Advances both clocks on an idle event loop. */
    async pass(ms: number) {
      clock.advance(ms)
      await timers.pass(ms)
    },
    eventsOf: <T extends FailureEvent['type']>(type: T) =>
      events.filter((event): event is Extract<FailureEvent, { type: T }> => event.type === type),
  }
}

/** `withFallback` around a `FallibleStore`. */
export function guardFallible({ traits, ...options }: FailureOptions & { traits?: StoreTraits } = {}) {
  const environment = createEnvironment()
  const store = new FallibleStore(environment.clock, traits)
  return { store, ...guard(store, options, environment) }
}

function createEnvironment() {
  return { clock: new ManualClock(START_MS), timers: new ManualTimers(), random: () => 0.5 }
}
