import { contains, parseCidr } from '@tidegate/http'
import { quoted } from '../../config/mistakes.js'
import { listOf, required, text, unfit } from '../argument.js'
import { definePredicate } from '../predicate.js'

/** The client's address as it is found through the trusted proxies of the file. */
export const RemoteAddr = definePredicate({
  example: 'RemoteAddr=192.168.1.1/24',
  args: { sources: required(listOf(range)) },
  isList: true,
  make: ({ sources }) => ({
    matches: ({ address }) => address !== undefined && sources.some((source) => contains(source, address)),
  }),
})

function range(value: unknown) {
  const given = text(value)
  const cidr = parseCidr(given)
  if (cidr !== undefined) return cidr
  throw unfit(`${quoted(given)} is no address and no range; write for example 10.0.0.0/8 or ::1`)
}
