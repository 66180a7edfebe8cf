// Runs luacheck on every Lua file of packages/redis, and on the scripts that the files are concatenated into: only there a
// function shows that is used before it is defined. Also checks the script for HAProxy among the examples. With a folder as
// argument it checks that package instead.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readScripts } from './embed-lua.mjs'

const redisPackage = process.argv[2] ?? fileURLToPath(new URL('../packages/redis', import.meta.url))
const config = fileURLToPath(new URL('../packages/redis/.luacheckrc', import.meta.url))
const folder = join(redisPackage, 'lua')

const results = [luacheck(['--quiet', '--config', config, folder])]
for (const { name, text } of readScripts(folder)) {
  const globals = ['redis', 'struct', 'KEYS', 'ARGV']
  const args = [
    '--quiet',
    '--no-config',
    '--std',
    'lua51',
    '--no-max-line-length',
    '--read-globals',
    ...globals,
  ]
  results.push(luacheck([...args, '--filename', name, '-'], text))
}
if (process.argv[2] === undefined) {
  const example = fileURLToPath(new URL('../examples/forward-auth/tidegate.lua', import.meta.url))
  results.push(
    luacheck(['--quiet', '--no-config', '--std', 'lua53', '--read-globals', 'core', '--', example]),
  )
}
process.exitCode = results.every((status) => status === 0) ? 0 : 1

/**
 * @param {string[]} args
 * @param {string} [input]
 */
function luacheck(args, input = '') {
  const { status, error, stdout, stderr } = spawnSync('luacheck', ['--no-color', ...args], {
    input,
    encoding: 'utf8',
  })
  if (error !== undefined) {
    console.error(
      `check-lua: could not run luacheck (${error.message}). Install it: sudo apt-get install lua-check`,
    )
    return 1
  }
  process.stdout.write(stdout)
  process.stderr.write(stderr)
  return status
}
