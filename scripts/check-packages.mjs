// Packs every published package and checks the tarball with publint and @arethetypeswrong/cli. The caller has built them.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LIBRARIES, PUBLISHED, root } from './published.mjs'

const bin = join(root, 'node_modules', '.bin')

const folder = mkdtempSync(join(tmpdir(), 'tidegate-check-'))
let failed = false
try {
  for (const path of PUBLISHED) {
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, '-w', path]
    const { stdout } = spawnSync('npm', args, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const tarball = join(folder, JSON.parse(stdout)[0].filename)
    check('publint', ['run', tarball, '--strict'])
    // The others have a command and nothing to import.
    if (LIBRARIES.includes(path)) check('attw', [tarball, '--no-emoji', '--format', 'ascii'])
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
if (!failed) console.log(`packages: publint and attw find nothing in ${PUBLISHED.length} packages`)
process.exitCode = failed ? 1 : 0

/**
 * @param {string} command
 * @param {string[]} args
 */
function check(command, args) {
  const { status, stdout, stderr } = spawnSync(join(bin, command), args, { cwd: root, encoding: 'utf8' })
  if (status === 0) return
  failed = true
  console.error(`packages: ${command} ${args.join(' ')} failed\n${stdout}${stderr}`)
}
