import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { AbstractConnector, type RedisOptions } from 'ioredis'

/**
 * Connects over TLS as ioredis does, except that every error is heard. ioredis hears the first of a connection, and
 * there can be a second: that the certificate is refused, and what the server says when it is then left. What nobody
 * hears ends the process. `onError` hears the first of each.
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
      // Whoever has called may still think better of it.
      await null
      if (!this.connecting) throw new Error('Connection is closed.')
      const { host, port, family, tls } = this.#options
      const stream = connect({ host, port, family, ...tls } as ConnectionOptions)
      stream.on('error', () => {})
      stream.once('error', (error) => {
        // ioredis looks for it where the connection is lost before it listens.
        this.firstError = error
        onError(error)
      })
      this.stream = stream
      return stream
    }
  }
}
