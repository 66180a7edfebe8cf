import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { AbstractConnector, type RedisOptions } from 'ioredis'

/**
 * Connects over TLS as ioredis does, but handles every error of a connection. ioredis handles the first one only, and an
 * unhandled error ends the process. After a rejected certificate there can be a second error: the server's reply to the
 * disconnect. `onError` receives the first error of each connection.
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
      // The caller may still disconnect in this turn of the event loop.
      await null
      if (!this.connecting) throw new Error('Connection is closed.')
      const { host, port, family, tls } = this.#options
      const stream = connect({ host, port, family, ...tls } as ConnectionOptions)
      stream.on('error', () => {})
      stream.once('error', (error) => {
        // ioredis reads this if the connection is lost before it listens.
        this.firstError = error
        onError(error)
      })
      this.stream = stream
      return stream
    }
  }
}
