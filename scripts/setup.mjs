// Prepares a checkout: installs dependencies, builds, and with --tools installs the programs that tests start. Does
// only what is missing. It runs before any dependency is installed, so it uses only Node's own modules.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { embedLua } from './embed-lua.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const OLDEST_NODE = [20, 19]

/** Each package is built twice, for `import` and for `require()`. */
const FORMATS = [
  { folder: 'esm', type: 'module' },
  { folder: 'cjs', type: 'commonjs' },
]

/** The programs that `npm run check` starts. */
const LINTERS = [{ command: 'luacheck', package: 'lua-check', for: 'checks of the Lua files' }]

/** The programs that tests start, and their Debian packages. */
const TOOLS = [
  { command: 'redis-server', package: 'redis-server', for: 'the tests of the Redis store' },
  { command: 'chromium', package: 'chromium', for: 'the tests in a browser' },
  { command: 'curl', package: 'curl', for: 'the examples of the service' },
  { command: 'python3', package: 'python3', for: 'the examples of the service' },
  { command: 'openssl', package: 'openssl', for: 'certificates for tests over TLS' },
  { command: 'nginx', package: 'nginx', for: 'the forward-auth examples' },
  { command: 'caddy', package: 'caddy', for: 'the forward-auth examples' },
  { command: 'haproxy', package: 'haproxy', for: 'the forward-auth examples' },
  {
    command: 'python3-grpcio',
    // A library: no command shows whether it is there.
    file: '/usr/lib/python3/dist-packages/grpc/__init__.py',
    package: 'python3-grpcio',
    for: 'the tests of the rate limit service for Envoy',
  },
  ...LINTERS,
]

/** `npm pack` and `npm publish` hand their options to this script, and `npm ci` must not read them. */
const WITHOUT_PACK_OPTIONS = Object.fromEntries(
  ['workspace', 'workspaces', 'dry_run', 'json', 'ignore_scripts'].map((name) => [
    `npm_config_${name}`,
    undefined,
  ]),
)

checkNode()
installDependencies()
build()
buildPage()
if (process.argv.includes('--tools')) installTools(TOOLS)
if (process.argv.includes('--linters')) installTools(LINTERS)

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return
  stop(`Tidegate needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.versions.node}.`)
}

function installDependencies() {
  const stamp = join(root, 'node_modules', '.cache', 'tidegate-lock')
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  say('installing dependencies (npm ci)')
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  run('npm', args, 'npm ci failed; see the lines above.', WITHOUT_PACK_OPTIONS)
  mkdirSync(join(root, 'node_modules', '.cache'), { recursive: true })
  writeFileSync(stamp, lock)
}

function build() {
  embedLua()
  // tsc itself records the changed sources.
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  run(process.execPath, [tsc, '--build'], 'the build failed; see the errors above.')
  copyErrorDocs()
  for (const name of readdirSync(join(root, 'packages'))) {
    const folder = join(root, 'packages', name)
    removeStaleOutput(folder)
    for (const format of FORMATS) {
      // Bundlers read both fields from the nearest package.json, which is this one.
      const marker = JSON.stringify({ type: format.type, sideEffects: false })
      writeFileSync(join(folder, 'dist', format.folder, 'package.json'), `${marker}\n`)
    }
  }
}

/** Messages refer to docs/errors.md, so core ships it and the pages that it links to. The image is built without docs/. */
function copyErrorDocs() {
  const docs = join(root, 'docs')
  if (!existsSync(docs)) return
  const errors = readFileSync(join(docs, 'errors.md'), 'utf8')
  const linked = [...errors.matchAll(/\]\(([\w./-]+\.md)/g)].map((link) => link[1] ?? '')
  const target = join(root, 'packages', 'core', 'docs')
  rmSync(target, { recursive: true, force: true })
  for (const page of new Set(['errors.md', ...linked]))
    cpSync(join(docs, page), join(target, page), { recursive: true })
}

/**
 * tsc keeps the output of deleted sources, and npm would pack it.
 * @param {string} folder of a package
 */
function removeStaleOutput(folder) {
  const dist = join(folder, 'dist')
  for (const entry of readdirSync(dist)) {
    if (!FORMATS.some((format) => format.folder === entry)) rmSync(join(dist, entry), { recursive: true })
  }
  for (const format of FORMATS) {
    const output = join(dist, format.folder)
    for (const file of filesIn(output)) {
      const source = relative(output, file).replace(/(?:\.d\.ts|\.js)(?:\.map)?$/, '.ts')
      if (source.endsWith('.ts') && !existsSync(join(folder, 'src', source))) rmSync(file)
    }
  }
}

function buildPage() {
  // Vite keeps no record of its inputs, so their hash is stored here.
  const stamp = join(root, 'node_modules', '.cache', 'tidegate-page')
  const page = join(root, 'apps', 'web')
  const sources = hashOf([
    ...['src', 'public'].flatMap((folder) => filesIn(join(page, folder))),
    ...['index.html', 'vite.config.ts'].map((name) => join(page, name)),
    ...filesIn(join(root, 'packages', 'core', 'src')),
    join(root, 'package-lock.json'),
  ])
  // The service is published with a copy of the page beside its compiled code.
  const served = join(root, 'apps', 'server', 'dist', 'page')
  const isThere = [join(page, 'dist', 'index.html'), join(served, 'index.html.gz')].every(existsSync)
  if (isThere && existsSync(stamp) && readFileSync(stamp, 'utf8') === sources) return
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  const args = [vite, 'build', page, '--logLevel', 'warn']
  run(process.execPath, args, 'the page could not be built; see the errors above.')
  rmSync(served, { recursive: true, force: true })
  cpSync(join(page, 'dist'), served, { recursive: true })
  // The same files also work without a service; this tag tells the page that it has one.
  const index = join(served, 'index.html')
  const tag = '<meta name="tidegate-service" content="here" /></head>'
  writeFileSync(index, readFileSync(index, 'utf8').replace('</head>', tag))
  for (const file of filesIn(served)) writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }))
  writeFileSync(stamp, sources)
}

/** @param {string} folder */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
}

/** @param {string[]} files */
function hashOf(files) {
  const hash = createHash('sha256')
  for (const file of files)
    hash
      .update(`${file.slice(root.length)}\0`)
      .update(readFileSync(file))
      .update('\0')
  return hash.digest('hex')
}

/** @param {{ command: string, file?: string, package: string, for: string }[]} tools */
function installTools(tools) {
  const missing = tools.filter(
    ({ command, file }) => !(file === undefined ? isOnPath(command) : existsSync(file)),
  )
  if (missing.length === 0) return
  const packages = missing.map((tool) => tool.package)
  const mayInstall = process.getuid?.() === 0 && isOnPath('apt-get')
  if (!mayInstall) {
    const wanted = missing.map((tool) => `${tool.command} (${tool.for})`).join(' and ')
    stop(`not found: ${wanted}. Install first: sudo apt-get install ${packages.join(' ')}`)
  }
  say(`installing ${packages.join(', ')} from Debian's packages`)
  const quiet = { DEBIAN_FRONTEND: 'noninteractive' }
  run('apt-get', ['update', '-qq'], 'apt-get update failed; see the lines above.', quiet)
  const install = ['install', '-y', '-qq', '--no-install-recommends', ...packages]
  run('apt-get', install, `could not install ${packages.join(' ')}; install them by hand.`, quiet)
}

/** @param {string} command */
function isOnPath(command) {
  // Debian has servers in /usr/sbin, which is not on every user's path.
  const paths = [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
  return paths.some((path) => existsSync(join(path, command)))
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} ifItFails
 * @param {Record<string, string | undefined>} [env]
 */
function run(command, args, ifItFails, env = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    // To stderr, because stdout is for the output of the command.
    stdio: ['ignore', 2, 2],
    env: { ...process.env, ...env },
  })
  if (error !== undefined || status !== 0)
    stop(error === undefined ? ifItFails : `${ifItFails} (${error.message})`)
}

/** @param {string} what */
function say(what) {
  process.stderr.write(`setup: ${what} …\n`)
}

/** @param {string} why */
function stop(why) {
  process.stderr.write(`setup: ${why}\n`)
  process.exit(1)
}
