import { TidegateError } from '@tidegate/core'
import { parseRedisUrl, type RedisStoreOptions } from '@tidegate/redis'
import type { ConfigDocument } from '../../config-file/document.js'
import { errorMessageWithoutField } from '../../config-file/factory.js'
import { optionOf } from '../../config-file/options.js'
import { type SpringRedis, springRedis } from './spring-redis.js'

/** The store, and how to connect to it. */
export type StoreConfig = MemoryStoreConfig | RedisStoreConfig

interface MemoryStoreConfig {
  readonly kind: 'memory'
  readonly maxKeys: number
}

interface RedisStoreConfig {
  readonly kind: 'redis'
  /** May contain the password: never log it. */
  readonly url: string
  /** `redis`, `rediss`, `redis+sentinel` or `redis+cluster`. */
  readonly scheme: string
  readonly options: Readonly<RedisStoreOptions>
  readonly deadlineMs: number
  /** 0: no cache. */
  readonly denialCacheMs: number
}

/** The maximum of both timeouts, which the library has too. */
const MAX_WAIT = { max: '1m' }
const MAX_WAIT_MS = 60_000

/** Describes what is wrong with the address of a store, without its password; undefined if it is valid. */
export function storeProblem(url: string): string | undefined {
  if (url === 'memory') return undefined
  try {
    parseRedisUrl(url)
    return undefined
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error
    return `${errorMessageWithoutField(error)}, or memory`
  }
}

export function readStore(document: ConfigDocument, overridingUrl: string | undefined): StoreConfig {
  const isText = typeof document.at(['store']) === 'string'
  const option = optionOf(document)
  const hasUrl = isText || document.at(['store', 'url']) !== undefined
  const spring = hasUrl ? undefined : springRedis(document)
  const inFile = spring?.url ?? (isText ? (document.at(['store']) as string) : option.text('store', 'url'))
  const problem = storeProblem(inFile)
  if (problem !== undefined)
    document.addError(spring?.path ?? (isText ? ['store'] : ['store', 'url']), problem)
  const url = overridingUrl ?? inFile
  const maxKeys = option.wholeNumber('store', 'maxKeys')
  const deadlineMs = option.durationMs(['store', 'deadline'], MAX_WAIT)
  const denialCacheMs = option.durationMs(['store', 'denialCache'], { minMs: 0 })
  const options = Object.freeze({
    prefix: option.text('store', 'prefix'),
    maxBatch: option.wholeNumber('store', 'maxBatch'),
    connectTimeoutMs: option.durationMs(['store', 'connectTimeout'], MAX_WAIT),
    ...login(document),
    ...tls(document),
    ...(overridingUrl === undefined && spring !== undefined ? springOptions(document, spring) : {}),
  })
  if (url === 'memory') return Object.freeze({ kind: 'memory', maxKeys })
  const scheme = url.slice(0, Math.max(0, url.indexOf(':')))
  return Object.freeze({ kind: 'redis', url, scheme, options, deadlineMs, denialCacheMs })
}

/** The Redis options of a Spring file, except for those that `store` overrides. */
function springOptions(document: ConfigDocument, spring: SpringRedis): Partial<RedisStoreOptions> {
  const { username, password, tls, connectTimeoutMs } = spring
  const isMissing = (name: string) => document.at(['store', name]) === undefined
  return {
    ...(username !== undefined && isMissing('username') ? { username } : {}),
    ...(password !== undefined && isMissing('password') ? { password } : {}),
    ...(tls && isMissing('tls') ? { tls: {} } : {}),
    ...(connectTimeoutMs !== undefined && isMissing('connectTimeout')
      ? { connectTimeoutMs: Math.min(connectTimeoutMs, MAX_WAIT_MS) }
      : {}),
  }
}

function login(document: ConfigDocument): { username?: string; password?: string } {
  const { username, password } = optionOf(document).section('store') as Record<string, string | undefined>
  return { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) }
}

function tls(document: ConfigDocument): Pick<RedisStoreOptions, 'tls'> {
  const { tls } = optionOf(document).section('store')
  if (tls === true) return { tls: {} }
  if (typeof tls !== 'object' || tls === null) return {}
  const { serverName, ...pem } = tls as Record<string, string>
  return { tls: serverName === undefined ? pem : { ...pem, servername: serverName } }
}
