import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const index = readFileSync(new URL('../pages/index.md', import.meta.url), 'utf8')

export default defineConfig({
  title: 'Tidegate',
  description: 'Rate limiting for Node.js: library, middleware, service and gateway.',
  lang: 'en',
  head: [['link', { rel: 'icon', href: '/lab/icon.svg', type: 'image/svg+xml' }]],
  srcDir: 'pages',
  outDir: 'dist',
  cleanUrls: true,
  // A dead link fails the build.
  ignoreDeadLinks: false,
  markdown: { anchor: { slugify: githubSlug }, config: adaptMarkdown, languageAlias: { promql: 'sql' } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/users/start' },
      { text: 'Lab', link: '/lab' },
      { text: 'Reference', link: '/reference/' },
    ],
    sidebar: [
      ...sectionsOf(index),
      {
        text: 'Generated',
        items: [
          { text: 'API', link: '/reference/api/' },
          { text: 'Options', link: '/reference/configuration' },
        ],
      },
    ],
  },
})

/**
 * The sidebar has the order and the groups of the index page.
 * @param {string} text
 */
function sectionsOf(text) {
  return text
    .split('\n## ')
    .slice(1)
    .map((section) => {
      const [title = '', ...lines] = section.split('\n')
      return { text: title, collapsed: false, items: lines.flatMap(itemsOf) }
    })
}

/** @param {string} line */
function itemsOf(line) {
  const links = [...line.matchAll(/\[([^\]]+)\]\(\.\/([^)#]+)\.md\)/g)].map((match) => ({
    text: `${match[1]?.charAt(0).toUpperCase()}${match[1]?.slice(1)}`,
    link: `/${match[2]}`,
  }))
  const group = /^\| ([^|]+) \|/.exec(line)?.[1]?.trim()
  return group === undefined || links.length === 0 ? links : [{ text: group, collapsed: true, items: links }]
}

/** @param {import('markdown-it')} md */
function adaptMarkdown(md) {
  // The anchor of a heading, `{#name}`, is not part of the label of its permalink.
  md.core.ruler.before('anchor', 'heading_labels', ({ tokens }) => {
    for (const [i, { type }] of tokens.entries()) {
      if (type === 'heading_open') tokens[i + 1].content = tokens[i + 1].content.replace(/ \{#[^}]*\}$/, '')
    }
  })
  // Vue would read double braces in a page as an expression.
  for (const rule of ['text', 'code_inline']) {
    const render = md.renderer.rules[rule]
    md.renderer.rules[rule] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
  }
}

/** Headings have the anchors that GitHub gives them, which the links in the pages use.
 * @param {string} text
 */
function githubSlug(text) {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-')
}
