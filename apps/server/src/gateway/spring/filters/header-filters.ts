import type { GatewayRequest } from '../../route.js'
import { flag, required, withDefault } from '../argument.js'
import { defineFilter, type FilterContext } from '../filter.js'
import { headerName, headerValue } from '../header-names.js'
import { parsePlaceholders } from '../placeholders.js'

type Headers = Map<string, string | string[]>

const pair = { name: required(headerName), value: required(headerValue) }

/** The value for a request. */
function valueFor(value: string, site: FilterContext): (request: GatewayRequest) => string {
  const parsed = parsePlaceholders(value, site, 'value')
  return typeof parsed === 'string' ? () => parsed : parsed
}

export const AddRequestHeader = defineFilter({
  example: 'AddRequestHeader=X-Request-Red, blue',
  args: pair,
  make({ name, value }, site) {
    const read = valueFor(value, site)
    return { request: ({ headers, request }) => add(headers, name, read(request)) }
  },
})

export const SetRequestHeader = defineFilter({
  example: 'SetRequestHeader=X-Request-Red, blue',
  args: pair,
  make({ name, value }, site) {
    const read = valueFor(value, site)
    return { request: ({ headers, request }) => void headers.set(name, read(request)) }
  },
})

export const RemoveRequestHeader = defineFilter({
  example: 'RemoveRequestHeader=X-Request-Foo',
  args: { name: required(headerName) },
  make: ({ name }) => ({ request: ({ headers }) => void headers.delete(name) }),
})

export const AddResponseHeader = defineFilter({
  example: 'AddResponseHeader=X-Response-Red, blue',
  args: { ...pair, override: withDefault(flag, true) },
  make({ name, value, override }, site) {
    const read = valueFor(value, site)
    return {
      response({ headers }, request) {
        // As in Spring, `override: false` adds the header only if the response does not have it.
        if (override || !headers.has(name)) add(headers, name, read(request))
      },
    }
  },
})

export const SetResponseHeader = defineFilter({
  example: 'SetResponseHeader=X-Response-Red, blue',
  args: pair,
  make({ name, value }, site) {
    const read = valueFor(value, site)
    return { response: ({ headers }, request) => void headers.set(name, read(request)) }
  },
})

export const RemoveResponseHeader = defineFilter({
  example: 'RemoveResponseHeader=X-Response-Foo',
  args: { name: required(headerName) },
  make: ({ name }) => ({ response: ({ headers }) => void headers.delete(name) }),
})

function add(headers: Headers, name: string, value: string): void {
  const before = headers.get(name)
  headers.set(name, before === undefined ? value : [...[before].flat(), value])
}
