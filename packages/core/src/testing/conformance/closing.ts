import { codeOf, EACH, type Suite } from './suite.js'

export function testClosing({ describe, promise, deepEqual }: Suite): void {
  describe('closing', () => {
    promise('calls after close fail with STORE_FAILED', async (store) => {
      await store.close()
      deepEqual(await codeOf(() => store.check({ policy: EACH[0]!, key: 'k', cost: 1 })), 'STORE_FAILED')
    })
  })
}
