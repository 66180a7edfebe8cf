import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
const pages = files
  .trim()
  .split('\n')
  .filter((page) => existsSync(join(root, page)))

const links = pages.flatMap((page) => {
  const text = withoutCode(readFileSync(join(root, page), 'utf8'))
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1]!)
    .filter((link) => !/^(https?|mailto):/.test(link))
    .map((link) => ({ page, link }))
})

it('the documentation has links to check', () => {
  expect(links.length).toBeGreaterThan(100)
})

it('every relative link has an existing target, and every anchor a heading', () => {
  const dead = links
    .filter(({ page, link }) => !isAlive(page, link))
    .map(({ page, link }) => `${page}: ${link}`)
  expect(dead).toStrictEqual([])
})

it('every page of the documentation is in its index', () => {
  const listed = links.filter(({ page }) => page === 'docs/README.md').map(({ link }) => `docs/${link}`)
  const missing = pages.filter(
    (page) => /^docs\/.+\.md$/.test(page) && page !== 'docs/README.md' && !listed.includes(page),
  )
  expect(missing).toStrictEqual([])
})

function isAlive(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? join(root, page) : join(root, dirname(page), path)
  if (!existsSync(file)) return false
  if (anchor === undefined) return true
  return statSync(file).isFile() && anchorsOf(readFileSync(file, 'utf8')).includes(anchor)
}

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(text: string): string[] {
  const counts = new Map<string, number>()
  return [...withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)].map((match) => {
    const slug = match[1]!
      .trim()
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
}

function withoutCode(text: string): string {
  return text.replace(/^(`{3,})[\s\S]*?^\1$/gm, '')
}
