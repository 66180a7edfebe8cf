import { styleText } from 'node:util'
import { allowsColours } from '../colours.js'
import { escapeControls } from './escape-controls.js'

interface Line {
  readonly level: string
  readonly time: string
  readonly msg?: string
  readonly err?: { readonly stack?: string; readonly message?: string }
}

const COLOURS = {
  fatal: 'red',
  error: 'red',
  warn: 'yellow',
  info: 'green',
  debug: 'dim',
  trace: 'dim',
} as const

/** Formats JSON log lines for a terminal: time, level and message, then one line per field. */
export function prettyStream(
  out: { write(text: string): unknown },
  env: Readonly<Record<string, string | undefined>>,
): { write(line: string): void } {
  const hasColours = allowsColours(env)
  const paint = (colour: (typeof COLOURS)[keyof typeof COLOURS], text: string) =>
    hasColours ? styleText(colour, text, { validateStream: false }) : text
  return {
    write(json) {
      const { level, time, msg = '', err, ...fields } = JSON.parse(json) as Line & Record<string, unknown>
      const colour = COLOURS[level as keyof typeof COLOURS] ?? 'dim'
      const clock = new Date(time).toTimeString().slice(0, 8)
      const lines = [`${paint('dim', clock)} ${paint(colour, level.padEnd(5))} ${escapeControls(msg)}`]
      for (const [name, value] of Object.entries(fields)) {
        for (const one of [value].flat()) {
          const text = typeof one === 'string' ? one : JSON.stringify(one)
          lines.push(`${paint('dim', `${' '.repeat(15)}${name.padEnd(8)}`)} ${escapeControls(text)}`)
        }
      }
      const trace = err?.stack ?? err?.message
      if (trace !== undefined)
        lines.push(...trace.split('\n').map((line) => `               ${escapeControls(line)}`))
      out.write(`${lines.join('\n')}\n`)
    },
  }
}
