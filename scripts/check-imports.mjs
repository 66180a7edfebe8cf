// Holds the import rule: who may import whom, which parts stay free of Node's modules, and no circles.
// With a folder as argument it checks that tree instead of this one, which is how its own test makes it fail.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * What each part may import of the others, and whether it may use Node's own modules: in all of its files, in none,
 * or only in these, which the others may not import either. `only` names the files to which one of them is left: the
 * service knows in one place which stores there are, and in one how their configuration is written.
 * @type {Record<string, { may: string[], node: boolean | string[], only?: Record<string, string[]> }>}
 */
const RULE = {
  'packages/core': { may: [], node: false },
  'packages/redis': { may: ['@tidegate/core'], node: true },
  'packages/http': {
    may: ['@tidegate/core'],
    node: [
      'express.ts',
      'fastify.ts',
      'koa.ts',
      'nest.ts',
      'nest-context.ts',
      'node.ts',
      'node-facts.ts',
      'node-response.ts',
    ],
  },
  'packages/client': { may: ['@tidegate/core'], node: false },
  'apps/server': {
    may: ['@tidegate/core', '@tidegate/redis', '@tidegate/http'],
    node: true,
    only: { '@tidegate/redis': ['compose.ts', 'config/store.ts'] },
  },
  'apps/web': { may: ['@tidegate/core'], node: false },
  fixtures: { may: [], node: true },
  e2e: {
    may: ['@tidegate/client', '@tidegate/core', '@tidegate/redis', '@tidegate/fixtures'],
    node: true,
  },
  bench: { may: ['@tidegate/core', '@tidegate/redis', '@tidegate/http', '@tidegate/fixtures'], node: true },
}

const root = resolve(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))
/** @type {string[]} */
const mistakes = []
/** @type {Map<string, string[]>} */
const graph = new Map()
let files = 0

for (const [part, rule] of Object.entries(RULE)) {
  for (const file of sourcesIn(join(root, part, 'src'))) {
    files++
    const where = relative(root, file)
    const isTest = /\.test\.tsx?$/.test(file)
    for (const specifier of importsOf(readFileSync(file, 'utf8'))) {
      if (specifier.startsWith('.')) {
        const target = sourceOf(resolve(dirname(file), specifier))
        const inside = !relative(join(root, part), target).startsWith('..')
        if (!inside)
          mistakes.push(`${where} reaches into another part by path (${specifier}); import its package`)
        if (!isTest) graph.set(file, [...(graph.get(file) ?? []), target])
        if (inside && !isTest && !mayUseNode(part, file) && mayUseNode(part, target)) {
          mistakes.push(`${where} may not import ${specifier}, which is for Node only`)
        }
      } else if (specifier.startsWith('@tidegate/')) {
        const name = specifier.split('/').slice(0, 2).join('/')
        if (!isTest && !rule.may.some((allowed) => allowed === name)) {
          mistakes.push(
            `${where} may not import ${specifier}; ${part} may import ${rule.may.join(', ') || 'nothing'}`,
          )
        }
        const only = rule.only?.[name]
        if (!isTest && only !== undefined && !only.includes(relative(join(root, part, 'src'), file))) {
          mistakes.push(`${where} may not import ${specifier}; of ${part} only ${only.join(' and ')} may`)
        }
      } else if (specifier.startsWith('node:') && !mayUseNode(part, file) && !isTest) {
        mistakes.push(`${where} may not import ${specifier}: ${part} also runs where Node's modules are not`)
      } else if (part === 'packages/core' && !isTest) {
        mistakes.push(`${where} may not import ${specifier}: core has no dependencies`)
      }
    }
  }
}
for (const circle of circles()) mistakes.push(`imports go in a circle: ${circle.join(' → ')}`)

if (files === 0) mistakes.push(`found no source files under ${root}`)
for (const mistake of mistakes) console.error(`imports: ${mistake}`)
if (mistakes.length === 0) console.log(`imports: ${files} files keep the rule`)
process.exitCode = mistakes.length === 0 ? 0 : 1

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
 * The source that an import of compiled code means.
 * @param {string} path
 */
function sourceOf(path) {
  const candidates = [path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')]
  return (
    candidates.find((each) => statSync(each, { throwIfNoEntry: false })?.isFile()) ?? candidates[0] ?? path
  )
}

/**
 * Everything a module imports, re-exports or loads. Types count: they are part of who knows whom.
 * @param {string} source
 */
function importsOf(source) {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
  const patterns = [
    // Only statements: messages name imports too.
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
    /\bimport\s*\(?\s*['"]([^'"]+)['"]/g,
    /\brequire\(\s*['"]([^'"]+)['"]/g,
  ]
  return patterns.flatMap((pattern) => [...code.matchAll(pattern)].map((match) => match[1] ?? ''))
}

/** Each circle of imports once. */
function circles() {
  /** @type {string[][]} */
  const found = []
  const done = new Set()
  /** @type {string[]} */
  const path = []
  /** @param {string} file */
  function visit(file) {
    const start = path.indexOf(file)
    if (start >= 0) found.push([...path.slice(start), file].map((name) => relative(root, name)))
    if (start >= 0 || done.has(file)) return
    path.push(file)
    for (const next of graph.get(file) ?? []) visit(next)
    path.pop()
    done.add(file)
  }
  for (const file of graph.keys()) visit(file)
  return found
}
