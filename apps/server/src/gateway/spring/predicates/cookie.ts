import { invalid, regExp, required, text } from '../argument.js'
import { definePredicate } from '../predicate.js'

export const Cookie = definePredicate({
  example: 'Cookie=chocolate, ch.p',
  args: { name: required(cookieName), regexp: required(regExp) },
  make({ name, regexp }) {
    return {
      matches(request) {
        const values = cookiesNamed(name, request.header('cookie'))
        return values.some((value) => regexp.test(value))
      },
    }
  },
})

function cookieName(value: unknown): string {
  const name = text(value)
  if (/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return name
  throw invalid(`${JSON.stringify(name)} is not a valid cookie name; write for example session`)
}

function cookiesNamed(name: string, header: string | undefined): string[] {
  const values: string[] = []
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=')
    if (equals < 0 || pair.slice(0, equals).trim() !== name) continue
    const value = pair.slice(equals + 1).trim()
    values.push(/^".*"$/.test(value) ? value.slice(1, -1) : value)
  }
  return values
}
