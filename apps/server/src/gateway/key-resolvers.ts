import { parseExpression, parseTemplate, type Template } from '@tidegate/http'
import { quoted } from '../config/mistakes.js'
import { text, unfit } from './argument.js'

/** The name under which everybody knows the user by the header `X-User-Id`. The file may say something else. */
export const USER_KEY_RESOLVER = 'userKeyResolver'

export const BUILT_IN_RESOLVERS: ReadonlyMap<string, Template> = new Map([
  [USER_KEY_RESOLVER, parseExpression("header.x-user-id | 'anonymous'")],
])

/** `#{@userKeyResolver}`, as Spring names a bean, or the name by itself. */
export function resolverName(value: unknown): string {
  if (value === null) throw unfit('is empty: without quotes # begins a comment; write "#{@userKeyResolver}"')
  const given = text(value)
  const name = /^#\{\s*@([\w$-]+)\s*\}$/.exec(given)?.[1] ?? given
  if (/^[\w$-]+$/.test(name)) return name
  throw unfit(`${quoted(given)} names no key resolver; write for example "#{@userKeyResolver}"`)
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
