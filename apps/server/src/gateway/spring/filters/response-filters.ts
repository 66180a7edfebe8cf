import { quote } from '../../../config-file/config-error.js'
import { bytes, invalid, required, status, text, unsupported, withDefault } from '../argument.js'
import { defineFilter } from '../filter.js'

export const PreserveHostHeader = defineFilter({
  example: 'PreserveHostHeader',
  args: {},
  make: () => ({ preserveHost: true }),
})

export const RequestSize = defineFilter({
  example: 'RequestSize=5MB',
  args: { maxSize: withDefault(bytes, 5 * 1024 * 1024) },
  make: ({ maxSize }) => ({ maxBodyBytes: maxSize }),
})

export const SetStatus = defineFilter({
  example: 'SetStatus=401',
  args: { status: required(status(200, 599)) },
  make: ({ status }) => ({
    status,
    response(head) {
      head.status = status
    },
  }),
})

export const RedirectTo = defineFilter({
  example: 'RedirectTo=302, https://acme.example',
  args: {
    status: required(status(300, 399)),
    url: required(location),
    includeRequestParams: unsupported('is not supported; remove it'),
  },
  shortcut: ['status', 'url'],
  make: ({ status, url }) => ({ fixedResponse: { status, headers: { location: url } } }),
})

function location(value: unknown): string {
  const target = text(value)
  // The client resolves a path against the URL of its request.
  const isUrl = /^https?:\/\/[^\s/]/.test(target) && URL.canParse(target)
  if (isUrl || (/^\/(?!\/)/.test(target) && !/[^!-~]/.test(target)))
    return isUrl ? new URL(target).href : target
  throw invalid(`${quote(target)} is not a valid redirect target; write for example https://acme.example/new`)
}
