import { TidegateError } from '@tidegate/core'
import { parseRedisUrl, type RedisStoreOptions } from '@tidegate/redis'
import type { ConfigDocument } from './document.js'
import { messageOf } from './factory.js'
import { optionOf } from './options.js'

/** Where state lives, and how it is reached. */
export type StoreConfig = MemoryStoreConfig | RedisStoreConfig

interface MemoryStoreConfig {
  readonly kind: 'memory'
  readonly maxKeys: number
}

interface RedisStoreConfig {
  readonly kind: 'redis'
  /** With the password, if it is in there: never log it. */
  readonly url: string
  /** `redis`, `rediss`, `redis+sentinel` or `redis+cluster`. */
  readonly scheme: string
  readonly options: Readonly<RedisStoreOptions>
  readonly deadlineMs: number
  /** 0 is off. */
  readonly rememberRefusalsMs: number
}

/** Nobody waits longer for a decision. The library takes no more either. */
const LONGEST_WAIT = { max: '1m' }

/** What is wrong with the address of a store; it never shows a password. */
export function storeProblem(url: string): string | undefined {
  if (url === 'memory') return undefined
  try {
    parseRedisUrl(url)
    return undefined
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error
    return `${messageOf(error)}; or memory`
  }
}

export function readStore(document: ConfigDocument, overridingUrl: string | undefined): StoreConfig {
  const isText = typeof document.at(['store']) === 'string'
  const option = optionOf(document)
  const inFile = isText ? (document.at(['store']) as string) : option.text('store', 'url')
  const problem = storeProblem(inFile)
  if (problem !== undefined) document.wrong(isText ? ['store'] : ['store', 'url'], problem)
  const url = overridingUrl ?? inFile
  const maxKeys = option.whole('store', 'maxKeys')
  const deadlineMs = option.durationMs(['store', 'deadline'], LONGEST_WAIT)
  const rememberRefusalsMs = option.durationMs(['store', 'rememberRefusals'], { minMs: 0 })
  const options = Object.freeze({
    prefix: option.text('store', 'prefix'),
    maxBatch: option.whole('store', 'maxBatch'),
    connectTimeoutMs: option.durationMs(['store', 'connectTimeout'], LONGEST_WAIT),
    ...login(document),
    ...tls(document),
  })
  if (url === 'memory') return Object.freeze({ kind: 'memory', maxKeys })
  const scheme = url.slice(0, Math.max(0, url.indexOf(':')))
  return Object.freeze({ kind: 'redis', url, scheme, options, deadlineMs, rememberRefusalsMs })
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
