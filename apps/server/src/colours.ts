/** Whether the environment allows colours. See https://no-color.org: any value of NO_COLOR but an empty one disables them. */
export function allowsColours(env: Readonly<Record<string, string | undefined>>): boolean {
  return !env.NO_COLOR && env.TERM !== 'dumb'
}
