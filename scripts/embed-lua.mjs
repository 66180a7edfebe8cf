// Writes the Lua scripts of packages/redis into a TypeScript module, so that a bundled application contains them.
// Uses only Node's own modules: setup.mjs calls it before any dependency is needed.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * The files of each script. A script is its files one after another, so a file can only use functions of earlier ones.
 * @type {Record<string, string[]>}
 */
const SCRIPTS = {
  CHECK_SCRIPT: [
    'lib/exact.lua',
    'lib/prefixes.lua',
    'lib/state.lua',
    'lib/bucket.lua',
    'lib/log.lua',
    'lib/limits.lua',
    'lib/reservations.lua',
    'fixed-window.lua',
    'sliding-window-log.lua',
    'sliding-window-counter.lua',
    'token-bucket.lua',
    'leaky-bucket.lua',
    'concurrency.lua',
    'main.lua',
  ],
  INSTANCES_SCRIPT: ['instances.lua'],
}

/**
 * The text of each script. Throws if a file is missing, or if a file of the folder belongs to no script.
 * @param {string} folder
 */
export function readScripts(folder) {
  const used = Object.values(SCRIPTS).flat()
  const unused = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.lua') && !used.includes(name))
  if (unused.length > 0) {
    throw new Error(
      `${unused.join(', ')} in ${folder} belongs to no script; add it to scripts/embed-lua.mjs.`,
    )
  }
  return Object.entries(SCRIPTS).map(([name, files]) => ({
    name,
    text: files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n'),
  }))
}

/**
 * Writes the module only if its text changes, so that tsc does not compile it again.
 * @param {string} [redisPackage] the folder with `lua/` and `src/`
 */
export function embedLua(redisPackage = join(root, 'packages', 'redis')) {
  const scripts = readScripts(join(redisPackage, 'lua')).map(({ name, text }) => {
    const sha = createHash('sha1').update(text).digest('hex')
    return `export const ${name} = {\n  sha: '${sha}',\n  text: ${JSON.stringify(text)},\n}\n`
  })
  const module = ['// Written by scripts/embed-lua.mjs from lua/. Do not edit.\n', ...scripts].join('\n')
  const target = join(redisPackage, 'src', 'script', 'lua.generated.ts')
  if (existsSync(target) && readFileSync(target, 'utf8') === module) return
  writeFileSync(target, module)
}
