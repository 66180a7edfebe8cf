/** The version of this package. `scripts/set-version.mjs` writes it together with the package.json files. */
export const VERSION = '0.1.0'
