import { readFileSync } from 'node:fs'

const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  dependencies: Record<string, string>
}

/** The versions of packages that are compared with. Ours are exact, so what is written is what runs. */
export function versionsOf(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, dependencies[name] ?? 'unknown']))
}
