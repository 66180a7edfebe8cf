import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'

const core = new URL('../dist/esm/index.js', import.meta.url)

/** In the built package, as it is shipped: the test runner's own copy is longer. */
function program(policy: string): string {
  return `
    import { createLimiter, fixedWindow, leakyBucket, slidingWindowCounter, tokenBucket } from ${JSON.stringify(core.href)}
    const limiter = createLimiter({ policy: ${policy} })
    const keys = Array.from({ length: 1000 }, (_, i) => 'user:' + i)
    function caller() {
      let allowed = 0
      for (const key of keys) if (limiter.check(key).allowed) allowed++
      return allowed
    }
    for (let i = 0; i < 300; i++) caller()`
}

// What V8 compiles into a caller has a size, and only bytecode counts. A check that has grown beyond it decides the same,
// but costs a fifth more: see Algorithm.check.
it.each([
  "fixedWindow({ limit: 1e6, window: '1h' })",
  "slidingWindowCounter({ limit: 1e6, window: '1h' })",
  "tokenBucket({ capacity: 1e6, refillRate: '1/1h' })",
  "leakyBucket({ capacity: 1e6, leakRate: '1/1h' })",
])('a check of %s is short enough to be compiled into its caller', (policy) => {
  // One thread: what is compiled when depends on nothing else.
  const flags = ['--single-threaded', '--trace-turbo-inlining', '--input-type=module', '--eval']
  const trace = execFileSync(process.execPath, [...flags, program(policy)], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  const inlined = [
    ...trace.matchAll(
      /Inlining \S+ \{\S+ <SharedFunctionInfo (\S+)>\} into \S+ \{\S+ <SharedFunctionInfo caller>\}/g,
    ),
  ].map(([, name]) => name)
  expect(inlined, 'V8 has said something else than it used to').not.toEqual([])
  // The limiter's, the store's and the algorithm's.
  expect(inlined.filter((name) => name === 'check')).toHaveLength(3)
  expect(inlined).toEqual(expect.arrayContaining(['nowUs', 'get', 'chunk', 'rowOf']))
})
