import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { AbstractConnector, type RedisOptions } from 'ioredis'

/**
 * Connects over TLS like ioredis, but handles all errors of a connection. ioredis handles only the first error, and an
 * unhandled error ends the process: after a rejected certificate, the disconnect can cause a second error. `onError`
 * receives the first error of each connection.
 */
export function tlsConnector(onError: (error: Error) => void): NonNullable<RedisOptions['Connector']> {
  return class TlsConnector extends AbstractConnector {
    readonly #options: RedisOptions

    /** ioredis calls it with all the options of the client. */
    constructor(options: unknown) {
      super((options as { disconnectTimeout: number }).disconnectTimeout)
      this.#options = options as RedisOptions
    }

    async connect(): Promise<TLSSocket> {
      this.connecting = true
      // Lets the caller disconnect in the same turn of the event loop.
      await null
      if (!this.connecting) throw new Error('Connection is closed.')
      const { host, port, family, tls } = this.#options
      const stream = connect({ host, port, family, ...tls } as ConnectionOptions)
      stream.on('error', () => {})
      stream.once('error', (error) => {
        // ioredis uses this if the connection is lost before it adds its listener.
        this.firstError = error
        onError(error)
      })
      this.stream = stream
      return stream
    }
  }
}
