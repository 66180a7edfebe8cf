import type { Policy } from '@tidegate/core'
import type { LimiterState } from '../simulation/state.js'

/** Reads a colour variable of the style sheet, for drawing on a canvas. */
export function colour(name: ColourName): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

export type ColourName =
  | 'ink'
  | 'muted'
  | 'line'
  | 'surface'
  | 'accent'
  | 'denied'
  | 'denied-soft'
  | Policy['algorithm']

/** Line dashes, so that lines differ by more than colour. */
export const DASHES: Record<LimiterState['kind'], number[]> = {
  'fixed-window': [],
  'sliding-window-log': [8, 3],
  'sliding-window-counter': [2, 3],
  'token-bucket': [12, 3, 2, 3],
  'leaky-bucket': [5, 5],
}
