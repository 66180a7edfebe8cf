import type { Route } from './route.js'

/** A route to these upstreams without limits and filters. */
export function routeTo(
  id: string,
  upstreams: readonly string[],
  { retry, timeouts }: Pick<Route, 'retry' | 'timeouts'>,
): Route {
  return {
    id,
    upstreams,
    healthCheck: undefined,
    limiter: undefined,
    budget: undefined,
    requestFilters: [],
    responseFilters: [],
    fixedResponse: undefined,
    preserveHost: false,
    maxBodyBytes: undefined,
    retry,
    webSocket: false,
    timeouts,
  }
}
