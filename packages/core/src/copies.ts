import { VERSION } from './version.js'

/*
 * A process can load several copies of this package: the ES module and the CommonJS build, two installed versions, or a
 * bundled and an installed copy. Copies recognize each other's objects by symbols of `Symbol.for`.
 */

/** Whether objects of a copy with this version can be used here: a `^` range of either version accepts the other. */
export function isCompatibleVersion(version: string, own = VERSION): boolean {
  return compatibilityLine(version) === compatibilityLine(own)
}

/** Returns a value that all compatible copies in this process share, and creates it on first use. */
export function sharedByCopies<T>(name: string, create: () => T): T {
  const key = Symbol.for(`@tidegate/core@${compatibilityLine(VERSION)}: ${name}`)
  const shared = globalThis as { [key: symbol]: T | undefined }
  const value = shared[key] ?? create()
  shared[key] = value
  return value
}

/** '1' for '1.2.3', '0.2' for '0.2.3', the whole version for '0.0.3' and for prereleases. */
function compatibilityLine(version: string): string {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? []
  if (major === undefined) return version
  if (major !== '0') return major
  return minor === '0' ? `0.0.${patch}` : `0.${minor}`
}
