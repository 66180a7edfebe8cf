import type { ComponentType } from 'preact'
import type { Words } from '../words/words.js'
import { Key } from './keys/key.js'
import { Live } from './live/live.js'
import { Policies } from './policies/policies.js'
import { Race } from './race.js'

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
