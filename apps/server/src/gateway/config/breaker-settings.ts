import type { ConfigDocument } from '../../config-file/document.js'
import { relaxedName } from '../../spring-file/names.js'
import type { BreakerSettings } from '../route.js'
import { BREAKER_DEFAULTS } from '../upstreams/circuit-breaker.js'
import { springDurationAt } from './spring-duration.js'

/** Reads the options of a circuit breaker from `resilience4j.circuitbreaker`: its own, those of its base, or the defaults. */
export function breakerSettings(document: ConfigDocument, name: string): BreakerSettings {
  const places = placesOf(document, 'circuitbreaker', name)
  const first = <T>(read: (place: string[]) => T | undefined) =>
    places.map(read).find((value) => value !== undefined)
  const wholeNumber = (option: string) => first((place) => numberAt(document, [...place, option]))
  return Object.freeze({
    slidingWindowSize: wholeNumber('sliding-window-size') ?? BREAKER_DEFAULTS.slidingWindowSize,
    minimumNumberOfCalls: wholeNumber('minimum-number-of-calls') ?? BREAKER_DEFAULTS.minimumNumberOfCalls,
    failureRateThreshold: wholeNumber('failure-rate-threshold') ?? BREAKER_DEFAULTS.failureRateThreshold,
    waitMs:
      first((place) => springDurationAt(document, [...place, 'wait-duration-in-open-state'])) ??
      BREAKER_DEFAULTS.waitMs,
    halfOpenCalls:
      wholeNumber('permitted-number-of-calls-in-half-open-state') ?? BREAKER_DEFAULTS.halfOpenCalls,
  })
}

/** The timeout under `resilience4j.timelimiter`; undefined if there is none. */
export function breakerTimeoutMs(document: ConfigDocument, name: string): number | undefined {
  return placesOf(document, 'timelimiter', name)
    .map((place) => springDurationAt(document, [...place, 'timeout-duration']))
    .find((ms) => ms !== undefined)
}

/** The sections that apply to a breaker, the most specific first. */
function placesOf(document: ConfigDocument, kind: string, name: string): string[][] {
  const path = (group: string) => ['resilience4j', kind, group]
  const keyIn = (group: string, entryName: string) => {
    const entries = document.at(path(group))
    const names = typeof entries === 'object' && entries !== null ? Object.keys(entries) : []
    return (
      names.find((key) => key === entryName) ??
      names.find((key) => relaxedName(key) === relaxedName(entryName))
    )
  }
  const instance = keyIn('instances', name)
  const own = instance === undefined ? [] : [[...path('instances'), instance]]
  const base =
    instance === undefined ? undefined : document.at([...path('instances'), instance, 'base-config'])
  const config = keyIn('configs', typeof base === 'string' ? base : 'default')
  return config === undefined ? own : [...own, [...path('configs'), config]]
}

function numberAt(document: ConfigDocument, path: string[]): number | undefined {
  const value = document.isValid(path) ? document.at(path) : undefined
  return typeof value === 'number' ? value : undefined
}
