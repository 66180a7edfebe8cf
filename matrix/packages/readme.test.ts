import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@tidegate/fixtures/free-port'
import { startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { expect, inject, it } from 'vitest'
import { repository, run } from '../src/run.js'

const readme = readFileSync(join(repository, 'README.md'), 'utf8')

it('copying the README into an empty folder gives a limited Express app on Redis in two minutes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-readme-'))
  const redis = await startRedis()
  const port = await freePort()
  const start = performance.now()

  // Only the source of our packages, the port and the address of Redis differ from the text.
  const installs = textAfter('text', '# Tidegate\n').trim().split('\n')
  expect(installs.length).toBeGreaterThan(1)
  for (const line of installs) {
    const [command, ...args] = line.replace(/#.*/, '').trim().split(/\s+/)
    expect(command).toBe('npm')
    const tarballs = inject('tarballs')
    await run(
      'npm',
      args.map((arg) => tarballs[arg] ?? arg),
      folder,
    )
  }
  const program = textAfter('ts', 'Save this as `app.mjs` and run `node app.mjs`')
  expect(program).toContain('redis://localhost:6379')
  expect(program).toContain('app.listen(3000)')
  writeFileSync(
    join(folder, 'app.mjs'),
    program.replace('redis://localhost:6379', redis.url).replace('3000', `${port}`),
  )
  const app = spawn(process.execPath, ['app.mjs'], { cwd: folder, stdio: 'inherit' })
  try {
    const request = () => fetch(`http://127.0.0.1:${port}/`)
    await until('the application to listen', () =>
      request().then(
        () => true,
        () => false,
      ),
    )
    const [, limit] = /limit: (\d+), window: '1m'/.exec(program)!
    // Two windows allow twice the limit, so one of these is denied also if a minute ends in between.
    const denied = []
    for (let i = 0; i <= 2 * Number(limit); i++) {
      const { status, headers } = await request()
      if (status !== 200) denied.push({ status, retryAfter: Number(headers.get('retry-after')) })
    }
    expect(denied.length).toBeGreaterThan(0)
    expect(denied[0]!.status).toBe(429)
    expect(denied[0]!.retryAfter).toBeGreaterThan(0)
    expect(Number.parseInt((await redis.ask('DBSIZE')).replace(/\D/g, ''), 10)).toBeGreaterThan(0)
    expect(performance.now() - start).toBeLessThan(120_000)
  } finally {
    app.kill()
    await redis.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
})

/** The first block of this language after a text of the README. */
function textAfter(language: string, text: string): string {
  const at = readme.indexOf(text)
  expect(at, text).toBeGreaterThanOrEqual(0)
  const block = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(readme.slice(at))
  return block![1]!
}
