import { styleText } from 'node:util'
import { allowsColours } from '../colours.js'

/** The environment of a command, and its output. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Prints one line of the result. */
  out(line: string): void
  /** Prints one line of messages and errors. */
  err(line: string): void
  /** Colours a text for `out` or `err`, if that is a terminal and colours are not disabled. */
  paint(colour: Colour, text: string, to?: 'out' | 'err'): string
}

type Colour = 'green' | 'red' | 'yellow' | 'bold' | 'dim'

interface Streams {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdout: OutputStream
  readonly stderr: OutputStream
}

interface OutputStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

export function terminalOf({ env, stdout, stderr }: Streams): Terminal {
  const hasColours = allowsColours(env)
  return {
    env,
    out: (line) => void stdout.write(`${line}\n`),
    err: (line) => void stderr.write(`${line}\n`),
    paint(colour, text, to = 'out') {
      const { isTTY = false } = to === 'out' ? stdout : stderr
      return isTTY && hasColours ? styleText(colour, text, { validateStream: false }) : text
    },
  }
}

/** Exit codes of all commands. */
export const EXIT = { ok: 0, denied: 1, invalidConfig: 1, usage: 2, noResponse: 3 } as const
