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
  /**
   * The value of each line of a header, also under names that CGI-like servers take for the same, such as `x_user_id`
   * for `x-user-id`. Different values make a key part ambiguous. Default: the joined value is used.
   */
  headerLines?(name: string): readonly string[]
  /** The client's address as one text for all its spellings: see `clientIp`. */
  readonly ip?: string | undefined
  /** Whether the client has disconnected. Default: false. */
  readonly isGone?: boolean
  /** The path at which the framework has mounted the middleware; `path` includes it. Default: none. */
  readonly mount?: string | undefined
  /** The framework's route, such as `/users/:id`. */
  readonly route?: string | undefined
}
