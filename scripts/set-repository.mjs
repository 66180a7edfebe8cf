// Writes repository, homepage and bugs into every published package. The address comes from the `repository` field of the
// root package.json, the only place where it is set.
import { join } from 'node:path'
import { PUBLISHED, readJson, root, writeJson } from './published.mjs'

const { repository } = readJson(join(root, 'package.json'))
const url = typeof repository === 'string' ? repository : repository?.url
const page = /^(?:git\+)?(https:\/\/[^#]+?)(?:\.git)?$/.exec(url ?? '')?.[1]
if (page === undefined) {
  console.error(
    `"repository" of the root package.json must be the https address of the repository, got ${JSON.stringify(url)}. ` +
      'Write for example "repository": "https://github.com/example/tidegate".',
  )
  process.exit(1)
}

for (const path of PUBLISHED) {
  const file = join(root, path, 'package.json')
  const address = { type: 'git', url: `git+${page}.git`, directory: path }
  const links = { repository: address, homepage: `${page}#readme`, bugs: `${page}/issues` }
  writeJson(file, { ...readJson(file), ...links })
}
