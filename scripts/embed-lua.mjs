// Writes the Lua scripts of packages/redis into a TypeScript module, so that a bundled application contains them.
// Uses only Node's own modules: setup.mjs calls it before any dependency is needed.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Throws if a Lua file is missing. Writes the module only if its text changes, so that tsc does not rebuild.
 * @param {string} [redisPackage] the folder with `lua/` and `src/`
 */
export function embedLua(redisPackage = join(root, 'packages', 'redis')) {
  const folder = join(redisPackage, 'lua')
  const names = readdirSync(folder).filter((name) => name.endsWith('.lua'))
  const entries = names.sort().map((name) => {
    const text = readFileSync(join(folder, name), 'utf8')
    return `  ${JSON.stringify(name.slice(0, -'.lua'.length))}: ${JSON.stringify(text)},\n`
  })
  const module = `// Written by scripts/embed-lua.mjs from lua/; do not edit.\nexport const LUA = {\n${entries.join('')}}\n`
  const target = join(redisPackage, 'src', 'lua.generated.ts')
  if (existsSync(target) && readFileSync(target, 'utf8') === module) return
  writeFileSync(target, module)
}
