import type { LimiterState } from './lab/state.js'

/** Canvases cannot read the style sheet by themselves. The names are those of its variables. */
export function colour(name: ColourName): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

export type ColourName = 'ink' | 'muted' | 'line' | 'surface' | 'accent' | 'refused' | LimiterState['kind']

/** Lines are told apart without colour too. */
export const DASHES: Record<LimiterState['kind'], number[]> = {
  'fixed-window': [],
  'sliding-window-log': [8, 3],
  'sliding-window-counter': [2, 3],
  'token-bucket': [12, 3, 2, 3],
  'leaky-bucket': [5, 5],
}
