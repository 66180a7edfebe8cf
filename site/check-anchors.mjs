import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/**
 * Throws if a link of the built site leads to a page or an anchor that does not exist. VitePress checks pages only.
 * @param {string} folder of the site
 */
export function checkAnchors(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.html') && !name.startsWith('lab/'))
    .map((name) => join(folder, name))
  const pages = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]))
  const ids = new Map([...pages].map(([file, html]) => [file, valuesOf(html, 'id')]))
  const dead = [...pages].flatMap(([file, html]) =>
    [...valuesOf(html, 'href')]
      .filter((link) => /^[./#]/.test(link) && !isAlive(folder, file, link, ids))
      .map((link) => `${relative(folder, file)}: ${link}`),
  )
  if (dead.length > 0) throw new Error(`The site has dead links:\n${dead.join('\n')}`)
}

/**
 * The values of an attribute, without repetition.
 * @param {string} html
 * @param {string} name
 */
function valuesOf(html, name) {
  return new Set([...html.matchAll(new RegExp(`\\s${name}="([^"]+)"`, 'g'))].map((match) => match[1] ?? ''))
}

/**
 * @param {string} folder
 * @param {string} file
 * @param {string} link
 * @param {Map<string, Set<string>>} ids
 */
function isAlive(folder, file, link, ids) {
  const [path = '', anchor] = link.split('#')
  const base = path.startsWith('/') ? join(folder, path) : join(dirname(file), path)
  const candidates = path === '' ? [file] : [base, `${base}.html`, join(base, 'index.html')]
  const target = candidates.find((candidate) => ids.has(candidate))
  if (target !== undefined) return anchor === undefined || ids.get(target)?.has(decodeURIComponent(anchor))
  return existsSync(base)
}
