import type uPlot from 'uplot'
import { colour } from '../../page/colours.js'
import type { Scenario } from '../../simulation/scenario.js'
import { formatCount } from '../../words/format.js'
import type { Words } from '../../words/words.js'
import { momentText } from '../playback/moment-text.js'
import { roundMoments } from './round-moments.js'

/** Width of the y axis. All charts share it, so that their time axes line up; `--axis-width` in the style sheet. */
export const AXIS_WIDTH = 40
/** `--time-axis-height` in the style sheet. */
export const TIME_AXIS_HEIGHT = 26
const LABEL_WIDTH = 84
const FONT = '12px system-ui, sans-serif'

export function timeAxis(scenario: Scenario, words: Words): uPlot.Axis {
  return {
    scale: 'x',
    size: TIME_AXIS_HEIGHT,
    gap: 4,
    stroke: colour('muted'),
    font: FONT,
    grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line'), width: 1, size: 4 },
    splits: (plot) => roundMoments(originOf(scenario), scenario.spanMs, plot.width / LABEL_WIDTH),
    values: (_, splits) => {
      const isRound = splits.every((at) => (scenario.originMs + at) % 1000 === 0)
      return splits.map((at) => momentText(scenario, at, words, isRound))
    },
  }
}

/** The time of the axis from which labels are counted. */
function originOf({ axis, originMs }: Scenario): number {
  return axis === 'clock' ? originMs : 0
}

/** A y axis with labels at 0 and `top` only. */
export function endsAxis(scale: string, top: number): uPlot.Axis {
  return {
    scale,
    size: AXIS_WIDTH,
    gap: 4,
    stroke: colour('muted'),
    font: FONT,
    grid: { show: false },
    ticks: { show: false },
    splits: () => [0, top],
    values: (_, splits) => splits.map(formatCount),
  }
}
