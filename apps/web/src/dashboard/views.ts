import type { ComponentType } from 'preact'
import type { Words } from '../words/words.js'
import { Key } from './key.js'
import { Live } from './live.js'
import { Policies } from './policies.js'
import { Race } from './race.js'

/** Only where a service has sent the page: as a site by itself, there is nobody to ask. */
export const hasService = document.querySelector('meta[name="tidegate-service"]') !== null

const view = (id: keyof Words['dashboard']['views'], component: ComponentType) => ({
  id,
  label: (words: Words) => words.dashboard.views[id],
  footer: (words: Words) => words.dashboard.footer,
  component,
})

export const DASHBOARD = [
  view('live', Live),
  view('key', Key),
  view('policies', Policies),
  view('race', Race),
]
