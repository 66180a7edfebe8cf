import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { fileURLToPath } from 'node:url'
import { until } from '@tidegate/fixtures/until'
import { afterAll, beforeAll, it } from 'vitest'
import { requestCodec } from '../../src/rls/service/codecs.js'
import { LIMITS, type LimitsFolder, limitsFolder } from './limits-folder.js'
import { framed, openStream } from './rls-call.js'

const CHILD = fileURLToPath(new URL('./rls-child.mjs', import.meta.url))
/** Of 64 MB of requests and responses that are held, and of garbage. */
const MAX_GROWTH_MB = 150

let folder: LimitsFolder
beforeAll(() => {
  folder = limitsFolder({ 'shop.yaml': LIMITS })
})
afterAll(() => folder?.remove())

async function rssMb(child: ChildProcess): Promise<number> {
  child.send('report')
  const [{ rss }] = await once(child, 'message')
  return (rss as number) / 1e6
}

const entry = { key: 'user', value: 'x'.repeat(255_000) }
const message = framed(requestCodec.encode({ domain: 'shop', descriptors: [{ entries: [entry] }] }))

// At the same time, because each waits 10 seconds.
it.concurrent.for([
  { name: 'requests without their last byte', body: message.subarray(0, -1), isEnded: false, settings: {} },
  {
    name: 'responses that the client does not read',
    body: message,
    isEnded: true,
    settings: { initialWindowSize: 0 },
  },
])(
  '700 $name hold a bounded memory, and are closed after 10 seconds',
  async ({ body, isEnded, settings }, { expect, onTestFinished }) => {
    const yaml = `rls: { listen: 0, config: [${folder.path}], dynamicMetadata: true }`
    const child = fork(CHILD, [yaml], { execArgv: ['--expose-gc'] })
    onTestFinished(async () => {
      child.disconnect()
      await once(child, 'exit')
    })
    const [{ address }] = await once(child, 'message')
    const before = await rssMb(child)
    const session = connect(`http://${address}`, { settings }).on('error', () => {})
    await once(session, 'connect')
    let open = 700
    for (let i = 0; i < 700; i++) {
      const stream = openStream(session).resume()
      stream.once('close', () => open--)
      if (isEnded) stream.end(body)
      else stream.write(body)
    }
    let most = before
    await until('all calls to be closed', async () => {
      most = Math.max(most, await rssMb(child))
      return open === 0
    })
    expect(most - before).toBeLessThan(MAX_GROWTH_MB)
    session.destroy()
  },
)
