/** The facts of a request for rules and key templates. Each framework adapter provides them. */
export interface RequestFacts {
  /** The method as it was sent, such as `GET`. */
  readonly method: string
  /** The canonical path: see `canonicalPath`. */
  readonly path: string
  /** Other paths that a router may interpret the target as. Default: none. */
  readonly otherPaths?: readonly string[]
  /** The query as it was sent, without the `?`; empty if there is none. */
  readonly query: string
  /**
   * Returns a header by its lower-case name. Several lines of one name are joined by `', '`, those of `cookie` by `'; '`.
   */
  header(name: string): string | undefined
  /**
   * Returns the lines of a header, including names that CGI-like servers treat as equal, such as `x_user_id` for
   * `x-user-id`. Different values make a key part ambiguous. Default: the joined value is used.
   */
  headerLines?(name: string): readonly string[]
  /** The client's address in canonical form: see `clientIp`. */
  readonly ip?: string | undefined
  /** Whether the client has disconnected. Default: false. */
  readonly isGone?: boolean
  /** The path at which the framework has mounted the middleware; `path` includes it. Default: none. */
  readonly mount?: string | undefined
  /** The framework's route, such as `/users/:id`. */
  readonly route?: string | undefined
}
