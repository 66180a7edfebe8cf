// Loaded before an example of the documentation that has a hidden test. A server listens on a free port in place of a fixed
// one, and does not keep the process alive; `await listening()` is its address.
import { Server } from 'node:net'

const { listen } = Server.prototype
/** @type {(url: string) => void} */
let found = () => {}
const url = new Promise((resolve) => {
  found = resolve
})

Server.prototype.listen = /** @type {typeof listen} */ (
  /** @this {Server} */
  function (first, ...rest) {
    this.once('listening', () => {
      const address = this.address()
      if (typeof address === 'object' && address !== null) found(`http://127.0.0.1:${address.port}`)
    })
    this.unref()
    const free = typeof first === 'number' ? 0 : { ...first, port: 0 }
    return Reflect.apply(listen, this, [free, ...rest])
  }
)

Object.assign(globalThis, { listening: () => url })
