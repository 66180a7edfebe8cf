/*
 * Names of properties as in Spring: `default-filters`, `defaultFilters` and `default_filters` are the same name.
 */

/** The common form of all spellings of a name. */
export function relaxedName(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase()
}

/** A step of a key: a name, or an index of a list. */
export type Step = string | number

/**
 * The steps of a dotted key: `spring.cloud.gateway.routes[0].uri`, or `cors-configurations.[/**].maxAge`. Text in
 * brackets is one name, also if it contains dots.
 */
export function stepsOf(key: string): Step[] {
  const steps: Step[] = []
  for (const [, bracketed, name] of key.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)) {
    if (name !== undefined) steps.push(name)
    else if (bracketed !== undefined) steps.push(/^\d{1,4}$/.test(bracketed) ? Number(bracketed) : bracketed)
  }
  return steps.length === 0 ? [key] : steps
}

/** The environment variable that overrides a property, such as SPRING_DATA_REDIS_HOST. */
export function variableOf(path: readonly Step[]): string {
  return path.map((step) => String(step).replaceAll('-', '').toUpperCase()).join('_')
}
