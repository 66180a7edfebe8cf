import { commaList } from '../../config-file/comma-list.js'
import type { Path } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { springDurationAt } from '../../gateway/config/spring-duration.js'

/** The Redis options of a Spring file, as options of the store. */
export interface SpringRedis {
  readonly url: string
  /** For error messages. */
  readonly path: Path
  readonly username: string | undefined
  readonly password: string | undefined
  readonly tls: boolean
  readonly connectTimeoutMs: number | undefined
}

/** `spring.data.redis`, or `spring.redis` of Spring Boot 2; undefined if the file has neither. */
export function springRedis(document: ConfigDocument): SpringRedis | undefined {
  const path = [
    ['spring', 'data', 'redis'],
    ['spring', 'redis'],
  ].find((path) => Object.keys((document.at(path) ?? {}) as object).length > 0)
  if (path === undefined || !document.isValid(path)) return undefined
  const at = (...steps: string[]) => document.at([...path, ...steps])
  const tls = at('ssl') === true || at('ssl', 'enabled') === true
  const textAt = (...steps: string[]) => (at(...steps) as string | undefined) || undefined
  const address = addressOf()
  return {
    ...address,
    path: address.path,
    username: textAt('username'),
    password: textAt('password'),
    tls: tls && !address.url.startsWith('rediss:'),
    connectTimeoutMs: springDurationAt(document, [...path, 'connect-timeout']),
  }

  function addressOf(): { url: string; path: Path } {
    const database = Number(at('database') ?? 0)
    const sentinels = commaList(at('sentinel', 'nodes')).join(',')
    const nodes = commaList(at('cluster', 'nodes')).join(',')
    if (sentinels !== '' || nodes !== '') {
      if (database > 0) {
        document.addError(
          [...path!, 'database'],
          `must be 0 with Sentinel or Cluster, got ${database}; use store.prefix to separate keys`,
        )
      }
      if (nodes !== '') return { url: `redis+cluster://${nodes}`, path: [...path!, 'cluster', 'nodes'] }
      const name = encodeURIComponent(String(at('sentinel', 'master') ?? ''))
      return { url: `redis+sentinel://${sentinels}/${name}`, path: [...path!, 'sentinel'] }
    }
    const url = textAt('url')
    if (url !== undefined) return { url, path: [...path!, 'url'] }
    const host = String(at('host') ?? 'localhost')
    const hostInUrl = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
    const db = database > 0 ? `/${database}` : ''
    return {
      url: `${tls ? 'rediss' : 'redis'}://${hostInUrl}:${at('port') ?? 6379}${db}`,
      path: [...path!, 'host'],
    }
  }
}
