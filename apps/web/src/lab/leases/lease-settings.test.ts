import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  LEASE_NUMBERS,
  LEASE_TRAFFIC,
  LEASE_WINDOWS,
  LEASED_ALGORITHMS,
  type LeaseSettings,
  leaseScenarioOf,
  maxAgeMsOf,
  readLeaseSettings,
  writeLeaseSettings,
} from './lease-settings.js'

const numbers = Object.fromEntries(
  Object.entries(LEASE_NUMBERS).map(([name, { min, max }]) => [name, fc.integer({ min, max })]),
)
const settings = fc.record({
  ...numbers,
  algorithm: fc.constantFrom(...LEASED_ALGORITHMS),
  window: fc.constantFrom(...LEASE_WINDOWS),
  traffic: fc.constantFrom(...LEASE_TRAFFIC),
}) as unknown as fc.Arbitrary<LeaseSettings>

describe('the settings of leases', () => {
  it('are the same after writing and reading the address, and all of them make valid policies', () => {
    fc.assert(
      fc.property(settings, (written) => {
        expect(readLeaseSettings(writeLeaseSettings(written))).toStrictEqual({ ...written })
        const [exact, leased] = leaseScenarioOf(written).policies
        expect(exact.lease).toBeUndefined()
        expect(leased.lease).toStrictEqual({ maxAge: maxAgeMsOf(written), share: written.share / 100 })
        expect(leased.instances).toBe(written.processes)
      }),
      { seed: 8, numRuns: 300, endOnFailure: true },
    )
  })

  it('leave only the name of the comparison in the address by default', () => {
    expect(writeLeaseSettings(readLeaseSettings(new Map()))).toStrictEqual(new Map([['show', 'leases']]))
  })

  it('fall back to the defaults: a leaky bucket has no leases, and a lease lasts a minute at most', () => {
    const invalid = {
      algorithm: 'leaky-bucket',
      window: '1h',
      traffic: 'drawn',
      maxAge: '51',
      processes: '0',
    }
    expect(readLeaseSettings(new Map(Object.entries(invalid)))).toStrictEqual(readLeaseSettings(new Map()))
  })
})
