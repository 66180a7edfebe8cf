import type { Logger } from 'pino'

/** Whether the last connection to an upstream succeeded. Changes are logged once. */
export class UpstreamState {
  isReachable = true
  private readonly origin: string
  private readonly log: Logger

  constructor(origin: string, log: Logger) {
    this.origin = origin
    this.log = log
  }

  reached(): void {
    if (this.isReachable) return
    this.isReachable = true
    this.log.info({ upstream: this.origin }, 'Upstream reachable again')
  }

  unreachable(error: Error): void {
    const fields = { upstream: this.origin, reason: reasonOf(error) }
    if (!this.isReachable) return void this.log.debug(fields, 'Upstream still unreachable')
    this.isReachable = false
    this.log.warn(fields, 'Upstream unreachable')
  }
}

/** The cause of a failed connection in one line, such as `ENOTFOUND: getaddrinfo ENOTFOUND api.internal`. */
export function reasonOf(error: unknown): string {
  // Node tries all addresses of a name, and reports all errors.
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ')
  const { code, message } = error as NodeJS.ErrnoException
  return code === undefined ? message : `${code}: ${message}`
}
