import fc from 'fast-check'

/** Checks a property on values that are the same in every run, so that failures are reproducible. */
export function holds<T>(values: fc.Arbitrary<T>, property: (value: T) => void, runs = 1000): void {
  const asProperty = fc.property(values, (value) => {
    property(value)
  })
  fc.assert(asProperty, { seed: 20_301, numRuns: runs })
}

/** Random texts of syntax elements and unusual characters, to test parsers. */
export function hostileText(pieces: readonly string[]): fc.Arbitrary<string> {
  const odd = ['', ' ', '\t', '\0', '\r\n', '\x7f', '\x85', '\ud800', '\udc00', 'é', '名', '😀', '__proto__']
  const piece = fc.oneof(
    fc.constantFrom(...pieces),
    fc.constantFrom(...odd),
    fc.string({ unit: 'binary', maxLength: 5 }),
  )
  return fc.array(piece, { maxLength: 40 }).map((all) => all.join(''))
}
