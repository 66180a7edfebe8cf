// Sets the version of every package, and of the ranges between them:  node scripts/set-version.mjs 0.2.0
// With --check it changes nothing, and fails unless every package has that version.
import { join } from 'node:path'
import { PUBLISHED, readJson, root, writeJson, writeText } from './published.mjs'

const isCheck = process.argv[2] === '--check'
const version = process.argv[isCheck ? 3 : 2] ?? ''
if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)) {
  console.error(
    `version must be MAJOR.MINOR.PATCH, got "${version}". Write for example: set-version.mjs 0.2.0`,
  )
  process.exit(1)
}

const manifests = [...PUBLISHED, 'apps/web'].map((path) => join(root, path, 'package.json'))
const names = new Set(manifests.map((file) => readJson(file).name))
for (const file of manifests) {
  const manifest = readJson(file)
  if (isCheck) {
    if (manifest.version === version) continue
    console.error(`${manifest.name} has version ${manifest.version}, expected ${version}`)
    process.exitCode = 1
    continue
  }
  manifest.version = version
  for (const field of ['dependencies', 'peerDependencies', 'devDependencies']) {
    for (const name of Object.keys(manifest[field] ?? {})) {
      if (names.has(name)) manifest[field][name] = `^${version}`
    }
  }
  writeJson(file, manifest)
}
if (!isCheck) {
  writeText(join(root, 'packages/core/src/version.ts'), (text) =>
    text.replace(/VERSION = '[^']*'/, `VERSION = '${version}'`),
  )
}
