import { required, text } from '../argument.js'
import { defineFilter } from '../filter.js'
import { parsePlaceholders } from '../placeholders.js'

export const AddRequestParameter = defineFilter({
  example: 'AddRequestParameter=red, blue',
  args: { name: required(text), value: required(text) },
  make({ name, value }, site) {
    const parsed = parsePlaceholders(value, site, 'value')
    return {
      request(forward) {
        // A value from the path is escaped already.
        const added =
          typeof parsed === 'string'
            ? encodeURIComponent(parsed)
            : parsed(forward.request).replace(/[&#+]/g, encodeURIComponent)
        const pair = `${encodeURIComponent(name)}=${added}`
        forward.query = forward.query === '' ? pair : `${forward.query}&${pair}`
      },
    }
  },
})

export const RemoveRequestParameter = defineFilter({
  example: 'RemoveRequestParameter=red',
  args: { name: required(text) },
  make: ({ name }) => ({
    request(forward) {
      const pairs = forward.query.split('&')
      forward.query = pairs.filter((pair) => nameOf(pair) !== name).join('&')
    },
  }),
})

/** Decoded, as the upstream reads it. */
function nameOf(pair: string): string {
  const name = pair.split('=', 1)[0]!.replaceAll('+', ' ')
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
