import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const bin = fileURLToPath(new URL('../../../apps/server/bin/tidegate.mjs', import.meta.url))

export interface ServiceProcess {
  readonly url: string
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** The real service, as it is started: from its bin, with this file. */
export async function startService(yaml: string, port = 0): Promise<ServiceProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-client-'))
  const file = join(folder, 'tidegate.yaml')
  writeFileSync(file, yaml)
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEGATE_')),
  )
  const child = spawn(process.execPath, [bin, 'start', '--config', file, '--port', String(port)], { env })
  const isOver = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      said += chunk
      const found = /Tidegate serves on (http:\/\/[\w.:]+)/.exec(said)
      if (found !== null) resolve(found[1]!)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    isOver.then(() => reject(new Error(`The service did not start: ${said}`)))
  })
  return {
    url,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      await isOver
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
