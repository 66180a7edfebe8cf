// `npm run docs`: builds the documentation site into site/dist. The packages and the page have been built before.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeApiReference } from './api-reference.mjs'
import { checkAnchors } from './check-anchors.mjs'
import { writeConfigurationReference } from './configuration-reference.mjs'
import { copyPages } from './pages.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const site = join(root, 'site')
const pages = join(site, 'pages')

installTools()
rmSync(pages, { recursive: true, force: true })
copyPages(root, pages)
await writeConfigurationReference(root, join(pages, 'reference', 'configuration.md'))
writeApiReference(root, join(pages, 'reference', 'api'))
cpSync(join(root, 'apps', 'web', 'dist'), join(pages, 'public', 'lab'), { recursive: true })
run(join(site, 'node_modules', '.bin', 'vitepress'), ['build'])
checkAnchors(join(site, 'dist'))
console.log('The site is in site/dist. `npx --prefix site vitepress preview site` serves it.')

/** The tools are not a workspace, so that `npm ci` of the repository does not install them. */
function installTools() {
  const lock = readFileSync(join(site, 'package-lock.json'), 'utf8')
  const mark = join(site, 'node_modules', '.installed-lock.json')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return
  run('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'])
  writeFileSync(mark, lock)
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  execFileSync(command, args, { cwd: site, stdio: 'inherit' })
}
