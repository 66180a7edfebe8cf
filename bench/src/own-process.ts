import { fork } from 'node:child_process'
import type { Figures } from './figures.js'

/**
 * Runs a program that measures and sends its figures. What the engine has learned about one contender must
 * neither help nor hurt another, so each has a process to itself. `flags` are Node's.
 */
export function inOwnProcess(
  program: URL,
  args: readonly string[],
  flags: readonly string[] = [],
): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const running = fork(program, args, { execArgv: ['--expose-gc', ...flags] })
    let figures: Figures | undefined
    running.on('message', (message) => {
      figures = message as Figures
    })
    running.on('error', reject)
    running.on('exit', (code) => {
      if (figures !== undefined && code === 0) resolve(figures)
      else reject(new Error(`"${args.join('", "')}" ended with code ${code}; its reason is above.`))
    })
  })
}
