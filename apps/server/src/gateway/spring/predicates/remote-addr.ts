import { contains, parseCidr } from '@tidegate/http'
import { quote } from '../../../config-file/config-error.js'
import { invalid, listOf, required, text } from '../argument.js'
import { definePredicate } from '../predicate.js'

/** Matches the client's address, read through the trusted proxies of the file. */
export const RemoteAddr = definePredicate({
  example: 'RemoteAddr=192.168.1.1/24',
  args: { sources: required(listOf(range)) },
  isList: true,
  make: ({ sources }) => ({
    matches: ({ address }) => address !== undefined && sources.some((source) => contains(source, address)),
  }),
})

function range(value: unknown) {
  const source = text(value)
  const cidr = parseCidr(source)
  if (cidr !== undefined) return cidr
  throw invalid(`${quote(source)} is not an IP address or CIDR range; write for example 10.0.0.0/8 or ::1`)
}
