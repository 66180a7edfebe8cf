import type { ServiceProcess } from './processes/service.js'

/** The failures of its store that a service reports, in metrics and log. */
export function storeFailuresOf(service: ServiceProcess, exposition: string): string[] {
  const lines = exposition.split('\n')
  const isReported = (line: RegExp) => lines.some((text) => line.test(text))
  return [
    ...(isReported(/^rate_limiter_store_up(\{.*\})? 1$/) ? [] : ['rate_limiter_store_up is not 1']),
    ...(isReported(/^rate_limiter_breaker_state\{.*state="closed".*\} 1$/)
      ? []
      : ['the breaker is not closed']),
    ...lines.filter((line) => /^rate_limiter_degraded_total\{.*mode="open".*\} [1-9]/.test(line)),
    ...service
      .log()
      .filter(({ level, msg }) => level === 'error' || (level === 'warn' && /store/i.test(msg)))
      .map(({ level, msg, err }) => `log: ${level} ${msg} (${err?.message})`),
  ]
}
