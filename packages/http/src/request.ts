/** The facts of a request that rules and key templates use. Each framework adapter provides them. */
export interface RequestFacts {
  /** As it was sent: `GET`. */
  readonly method: string
  /** The canonical path: see `canonicalPath`. */
  readonly path: string
  /** Other paths that a router may read in the target. Default: none. */
  readonly otherPaths?: readonly string[]
  /** As it was sent, without the `?`; empty if there is none. */
  readonly query: string
  /**
   * A header by its name in lower case. Several lines of one name are joined by `', '`, those of `cookie` by
   * `'; '`.
   */
  header(name: string): string | undefined
  /** The client's address as one text for all its spellings: see `clientIp`. */
  readonly ip?: string | undefined
  /** Whether the client has disconnected. Default: false. */
  readonly isGone?: boolean
  /** The framework's route, such as `/users/:id`. */
  readonly route?: string | undefined
}
