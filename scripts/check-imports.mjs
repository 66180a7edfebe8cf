// Checks the imports: which part may import which, where Node's modules are allowed, no cycles between files or folders,
// and no two files with one name. With a folder as argument it checks that tree, which its test uses.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The rule of each part:
 * - `may`: the packages that it may import.
 * - `node`: whether it may import Node's modules: every file, none, or only the listed files, which the others may not
 *   import.
 * - `only`: packages that only the listed files may import.
 * - `types`: modules of the service whose types it may import.
 * @type {Record<string, { may: string[], node: boolean | string[], only?: Record<string, string[]>, types?: string[] }>}
 */
const RULE = {
  'packages/core': { may: [], node: false },
  'packages/redis': { may: ['@tidegate/core'], node: true },
  'packages/http': {
    may: ['@tidegate/core'],
    node: [
      'frameworks/express.ts',
      'frameworks/fastify.ts',
      'frameworks/koa.ts',
      'frameworks/nest.ts',
      'frameworks/nest-context.ts',
      'frameworks/node.ts',
      'frameworks/node-facts.ts',
      'frameworks/node-response.ts',
    ],
  },
  'packages/client': { may: ['@tidegate/core'], node: false },
  'packages/compat': { may: ['@tidegate/core'], node: false },
  'apps/server': {
    may: ['@tidegate/core', '@tidegate/redis', '@tidegate/http'],
    node: true,
    only: { '@tidegate/redis': ['compose.ts', 'config/sections/store.ts'] },
  },
  'apps/web': { may: ['@tidegate/core'], node: false, types: ['tidegate/dist/live/live-event.js'] },
  fixtures: { may: [], node: true },
  e2e: {
    may: ['@tidegate/client', '@tidegate/core', '@tidegate/redis', '@tidegate/fixtures'],
    node: true,
  },
  bench: {
    may: ['@tidegate/core', '@tidegate/redis', '@tidegate/http', '@tidegate/fixtures'],
    node: true,
  },
}

const root = resolve(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))
/** @type {string[]} */
const errors = []
/** @type {Map<string, Set<string>>} */
const fileGraph = new Map()
/** @type {Map<string, Set<string>>} */
const folderGraph = new Map()
let files = 0

for (const [part, rule] of Object.entries(RULE)) {
  const src = join(root, part, 'src')
  /** @type {Map<string, string>} */
  const fileByName = new Map()
  for (const file of sourcesIn(src)) {
    files++
    const where = relative(root, file)
    const isTest = /\.test\.tsx?$/.test(file)
    if (!isTest) assertOwnName(file, fileByName)
    for (const specifier of importsOf(readFileSync(file, 'utf8'))) {
      if (specifier.startsWith('.')) {
        const target = sourceOf(resolve(dirname(file), specifier))
        const isInside = !relative(join(root, part), target).startsWith('..')
        if (!isInside) errors.push(`${where} imports another part by path (${specifier}); import its package`)
        if (isTest) continue
        addEdge(fileGraph, file, target)
        if (isInside) addFolderEdge(file, target)
        if (isInside && !mayUseNode(part, file) && mayUseNode(part, target)) {
          errors.push(`${where} may not import ${specifier}, which is for Node only`)
        }
      } else if (isTest) {
        // Tests may import any package.
      } else if (specifier.startsWith('@tidegate/')) {
        const name = specifier.split('/').slice(0, 2).join('/')
        if (!rule.may.includes(name)) {
          errors.push(
            `${where} may not import ${specifier}; ${part} may import ${rule.may.join(', ') || 'nothing'}`,
          )
        }
        const only = rule.only?.[name]
        if (only !== undefined && !only.includes(relative(src, file))) {
          errors.push(`${where} may not import ${specifier}; in ${part} only ${only.join(' and ')} may`)
        }
      } else if (/^tidegate(?:\/|$)/.test(specifier)) {
        if (!rule.types?.includes(specifier)) errors.push(`${where} may not import ${specifier}`)
      } else if (specifier.startsWith('node:') && !mayUseNode(part, file)) {
        errors.push(
          `${where} may not import ${specifier}: ${part} also runs where Node's modules do not exist`,
        )
      } else if (part === 'packages/core') {
        errors.push(`${where} may not import ${specifier}: core has no dependencies`)
      }
    }
  }
}
for (const cycle of cyclesIn(fileGraph)) errors.push(`import cycle: ${cycle.join(' → ')}`)
for (const cycle of cyclesIn(folderGraph)) {
  // A cycle of files alone is reported above.
  if (cycle.some((name) => !/\.tsx?$/.test(name)))
    errors.push(`import cycle of folders: ${cycle.join(' → ')}`)
}

if (files === 0) errors.push(`found no source files under ${root}`)
for (const error of errors) console.error(`imports: ${error}`)
if (errors.length === 0) console.log(`imports: ${files} files follow the rules`)
process.exitCode = errors.length === 0 ? 0 : 1

/**
 * Every file of a part has its own name, except for `index.ts`.
 * @param {string} file
 * @param {Map<string, string>} fileByName
 */
function assertOwnName(file, fileByName) {
  const name = basename(file).replace(/\.tsx?$/, '')
  if (name === 'index') return
  const other = fileByName.get(name)
  if (other !== undefined)
    errors.push(`${relative(root, file)} has the same name as ${relative(root, other)}`)
  fileByName.set(name, file)
}

/**
 * Within each folder, every subfolder with all its files is one node, and so is every file beside it. An import adds an
 * edge between the two nodes where the paths of its two files part. These edges must not form a cycle.
 * @param {string} file
 * @param {string} target
 */
function addFolderEdge(file, target) {
  const [from, to] = [file.split(sep), target.split(sep)]
  let depth = 0
  while (from[depth] === to[depth] && depth < from.length) depth++
  if (depth === from.length) return
  addEdge(folderGraph, from.slice(0, depth + 1).join(sep), to.slice(0, depth + 1).join(sep))
}

/**
 * @param {Map<string, Set<string>>} graph
 * @param {string} from
 * @param {string} to
 */
function addEdge(graph, from, to) {
  const targets = graph.get(from) ?? new Set()
  graph.set(from, targets.add(to))
}

/**
 * @param {string} part
 * @param {string} file
 */
function mayUseNode(part, file) {
  const node = RULE[part]?.node ?? false
  return Array.isArray(node) ? node.includes(relative(join(root, part, 'src'), file)) : node
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function sourcesIn(folder) {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name))
}

/**
 * The source file of an import, which names the compiled file.
 * @param {string} path
 */
function sourceOf(path) {
  const candidates = [path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')]
  return (
    candidates.find((each) => statSync(each, { throwIfNoEntry: false })?.isFile()) ?? candidates[0] ?? path
  )
}

/**
 * Everything that a module imports, re-exports or loads, types included.
 * @param {string} source
 */
function importsOf(source) {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
  const patterns = [
    // Only at the start of a line, because messages contain imports too.
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
    /\bimport\s*\(?\s*['"]([^'"]+)['"]/g,
    /\brequire\(\s*['"]([^'"]+)['"]/g,
  ]
  return patterns.flatMap((pattern) => [...code.matchAll(pattern)].map((match) => match[1] ?? ''))
}

/**
 * One cycle for each import that closes one.
 * @param {Map<string, Set<string>>} graph
 */
function cyclesIn(graph) {
  /** @type {string[][]} */
  const cycles = []
  const done = new Set()
  /** @type {string[]} */
  const path = []
  /** @param {string} node */
  function visit(node) {
    const start = path.indexOf(node)
    if (start >= 0) cycles.push([...path.slice(start), node].map((name) => relative(root, name)))
    if (start >= 0 || done.has(node)) return
    path.push(node)
    for (const next of graph.get(node) ?? []) visit(next)
    path.pop()
    done.add(node)
  }
  for (const node of graph.keys()) visit(node)
  return cycles
}
