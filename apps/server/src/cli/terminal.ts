import { styleText } from 'node:util'

/** Where a command prints to, and what it is given besides its arguments. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The result, one line. */
  out(line: string): void
  /** Everything else, one line. */
  err(line: string): void
  /** Text for `out` or `err` in a colour; unchanged if that is no terminal, or nobody wants colours. */
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
  // https://no-color.org: set to anything but nothing
  const isPlain = Boolean(env.NO_COLOR) || env.TERM === 'dumb'
  return {
    env,
    out: (line) => void stdout.write(`${line}\n`),
    err: (line) => void stderr.write(`${line}\n`),
    paint(colour, text, to = 'out') {
      const { isTTY = false } = to === 'out' ? stdout : stderr
      return isTTY && !isPlain ? styleText(colour, text, { validateStream: false }) : text
    },
  }
}

/** What every command ends with, so that scripts can tell. */
export const EXIT = { ok: 0, refused: 1, mistakes: 1, usage: 2, noAnswer: 3 } as const

/** Text from elsewhere on one line of a terminal: no control character does anything. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
