import { parseExpression, parseTemplate, type Template } from '@tidegate/http'
import { quote } from '../../config-file/config-error.js'
import { invalid, text } from './argument.js'

/** The default resolver: counts by the header `X-User-Id`. The file may define it differently. */
export const USER_KEY_RESOLVER = 'userKeyResolver'

export const BUILT_IN_RESOLVERS: ReadonlyMap<string, Template> = new Map([
  [USER_KEY_RESOLVER, parseExpression("header.x-user-id | 'anonymous'")],
])

/** Common names of key resolver beans, and the keys that such beans usually return. */
export const USUAL_RESOLVERS: ReadonlyMap<string, Template> = new Map([
  ...['ip', 'clientIp', 'remoteAddr', 'remoteAddress', 'hostAddr', 'hostAddress', 'hostName'].map(
    (name) => [`${name}KeyResolver`, parseExpression('ip')] as const,
  ),
  ...['path', 'uri', 'url'].map((name) => [`${name}KeyResolver`, parseExpression('path')] as const),
])

/** Reads the name of a resolver, or a reference to a bean such as `#{@userKeyResolver}`. */
export function resolverName(value: unknown): string {
  if (value === null)
    throw invalid('is empty, because # begins a comment; write it in quotes: "#{@userKeyResolver}"')
  const reference = text(value)
  const name = /^#\{\s*@([\w$-]+)\s*\}$/.exec(reference)?.[1] ?? reference
  if (/^[\w$-]+$/.test(name)) return name
  throw invalid(
    `${quote(reference)} is not the name of a key resolver; write for example "#{@userKeyResolver}"`,
  )
}

/** An expression such as `header.x-user-id | ip`, or a template such as `user:{header.x-user-id}:{path}`. */
export function parseResolver(text: string): Template {
  try {
    return parseExpression(text)
  } catch (error) {
    if (!/[{}]/.test(text)) throw error
    return parseTemplate(text)
  }
}
