import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Writes a page for each entry point of the published libraries, from the declarations that npm users get.
 * @param {string} root of the repository
 * @param {string} folder to write
 */
export function writeApiReference(root, folder) {
  const site = join(root, 'site')
  const work = join(site, '.api')
  rmSync(work, { recursive: true, force: true })
  const packages = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name))
  const entryPoints = packages.flatMap((path) => writeEntries(path, work))
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    skipLibCheck: true,
    typeRoots: [join(root, 'node_modules', '@types')],
    types: ['node'],
  }
  const tsconfig = join(work, 'tsconfig.json')
  writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files: entryPoints }))
  const options = join(work, 'typedoc.json')
  writeFileSync(
    options,
    JSON.stringify({ ...OPTIONS, entryPoints, tsconfig, out: folder, displayBasePath: work }),
  )
  execFileSync(join(site, 'node_modules', '.bin', 'typedoc'), ['--options', options], {
    cwd: site,
    stdio: 'inherit',
  })
}

const OPTIONS = {
  plugin: ['typedoc-plugin-markdown'],
  name: 'API',
  readme: 'none',
  entryFileName: 'index',
  router: 'module',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  disableSources: true,
  groupOrder: ['Functions', 'Classes', '*'],
  excludePrivate: true,
  excludeExternals: true,
  skipErrorChecking: true,
  useHTMLEncodedBrackets: true,
  // VitePress numbers equal headings differently than TypeDoc, so the links name their anchors.
  useCustomAnchors: true,
  customAnchorsFormat: 'curlyBrace',
  sanitizeComments: true,
  parametersFormat: 'table',
  propertiesFormat: 'table',
  logLevel: 'Error',
}

/**
 * Writes a module for each entry point of a package. Its path is the name that users import.
 * @param {string} folder of the package
 * @param {string} work folder to write to
 * @returns {string[]} the modules
 */
function writeEntries(folder, work) {
  const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return Object.entries(exports).flatMap(([entry, { import: source }]) => {
    if (source?.types === undefined) return []
    const file = join(work, name, `${entry === '.' ? 'index' : entry}.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `export * from '${join(folder, source.types.replace(/\.d\.ts$/, '.js'))}'\n`)
    return [file]
  })
}
