import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

/** Pages of the repository that are not in docs/, and their place on the site. */
const OTHERS = { 'CONTRIBUTING.md': 'contributors/contributing.md', 'CHANGELOG.md': 'changelog.md' }

/**
 * Copies the documentation without its hidden tests. Links that lead out of the site become plain text.
 * @param {string} root of the repository
 * @param {string} target folder
 */
export function copyPages(root, target) {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  /** @type {Map<string, string>} path in the repository → path on the site */
  const places = new Map(Object.entries(OTHERS))
  for (const name of docs.filter((file) => file.endsWith('.md'))) {
    const path = name.replaceAll('\\', '/')
    places.set(`docs/${path}`, path === 'README.md' ? 'index.md' : path)
  }
  for (const [source, place] of places) {
    const text = readFileSync(join(root, source), 'utf8')
    const file = join(target, place)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, withLinks(withoutTests(text), source, place, places))
  }
  cpSync(join(root, 'docs', 'pictures'), join(target, 'pictures'), { recursive: true })
  writeFileSync(join(target, 'lab.md'), LAB)
  mkdirSync(join(target, 'reference'), { recursive: true })
  writeFileSync(join(target, 'reference', 'index.md'), REFERENCE)
}

/** @param {string} text */
function withoutTests(text) {
  return text.replace(/^<!-- test\n[\s\S]*?^-->\n/gm, '')
}

/**
 * @param {string} text
 * @param {string} source
 * @param {string} place
 * @param {Map<string, string>} places
 */
function withLinks(text, source, place, places) {
  return text.replace(/(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (whole, image, label, link) => {
    if (/^(https?:|mailto:|#)/.test(link)) return whole
    const [path, anchor] = link.split('#')
    const to = posix.normalize(posix.join(posix.dirname(source), path))
    if (image === '!')
      return `![${label}](${posix.relative(posix.dirname(place), to.replace(/^docs\//, ''))})`
    const onSite = places.get(to)
    if (onSite === undefined) return label
    const relative = posix.relative(posix.dirname(place), onSite)
    return `[${label}](./${relative}${anchor === undefined ? '' : `#${anchor}`})`
  })
}

const LAB = `---
aside: false
---

# Lab

The lab runs all five algorithms in your browser. Change the limit and the traffic, and compare the decisions. It is the page of
the [service](./operators/service.md) without its dashboard; \`npm run lab\` serves it from a checkout.

<iframe :src="withBase('/lab/index.html')" title="Lab" class="lab"></iframe>

<script setup>
import { withBase } from 'vitepress'
</script>

<style>
.lab { width: 100%; height: 80vh; border: 1px solid var(--vp-c-divider); border-radius: 8px; }
</style>
`

const REFERENCE = `# Reference

- [API](./api/index.md): every export of every package, generated from the types
- [Configuration](./configuration.md): every option of tidegate.yaml, generated from its schema
- [Errors](../errors.md): every error code
`
