import { VERSION } from './version.js'

/*
 * A process can contain several copies of this package: the ES module and the CommonJS build, two installed versions,
 * or one copy in a bundle and one outside. Copies recognize each other's objects by marks under `Symbol.for`.
 */

/** Whether objects of another copy can be used here: whether `^` of either version accepts the other. */
export function isCompatibleVersion(version: string, own = VERSION): boolean {
  return compatibilityLine(version) === compatibilityLine(own)
}

/** A value that all compatible copies in this process share. The first copy that needs it creates it. */
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
