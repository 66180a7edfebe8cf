import { type ErrorCode, errorDocs } from './errors.js'

/** Prints a process warning with a code, or writes to the console on runtimes without process warnings. */
export function warn(code: ErrorCode, message: string): void {
  const text = `${message} See ${errorDocs(code)}`
  const { process, console } = globalThis as {
    process?: { emitWarning?: (message: string, options: { type: string; code: string }) => void }
    console?: { warn(message: string): void }
  }
  if (typeof process?.emitWarning === 'function')
    process.emitWarning(text, { type: 'TidegateWarning', code: `TIDEGATE_${code}` })
  else console?.warn(`TidegateWarning [TIDEGATE_${code}]: ${text}`)
}
