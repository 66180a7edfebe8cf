// Runs the tests, then compiles on every change and runs the tests that the change touches, until it is stopped. It does
// not build the page.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { embedLua } from './embed-lua.mjs'

embedLua()

const bin = fileURLToPath(new URL('../node_modules/.bin/', import.meta.url))
const children = [
  spawn(`${bin}tsc`, ['--build', '--watch', '--preserveWatchOutput'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  }),
  spawn(`${bin}vitest`, ['--watch'], { stdio: 'inherit' }),
]
for (const child of children) {
  child.on('exit', (code) => {
    for (const other of children) other.kill()
    process.exitCode = code ?? 0
  })
}
