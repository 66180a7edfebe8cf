// Writes the schema that editors use, from the one the service uses. Run it after a build, when that has changed.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { editorSchema } from '../dist/config/schema/file-schema.js'

const file = fileURLToPath(new URL('../tidegate.schema.json', import.meta.url))
writeFileSync(file, JSON.stringify(editorSchema, null, 2))
const { status } = spawnSync('npx', ['biome', 'format', '--write', file], { stdio: 'inherit' })
process.exitCode = status ?? 1
