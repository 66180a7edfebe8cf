import { fork } from 'node:child_process'
import type { Figures } from '../report/figures.js'

/**
 * Runs a program that sends its figures. Each contender gets its own process, so that the optimizations of the engine for
 * one contender do not affect another. `flags` are Node options.
 */
export function inOwnProcess(
  program: URL,
  args: readonly string[],
  flags: readonly string[] = [],
): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const child = fork(program, args, { execArgv: ['--expose-gc', ...flags] })
    let figures: Figures | undefined
    child.on('message', (message) => {
      figures = message as Figures
    })
    child.on('error', reject)
    child.on('exit', (code) => {
      if (figures !== undefined && code === 0) resolve(figures)
      else reject(new Error(`"${args.join('", "')}" exited with code ${code}; see its error above.`))
    })
  })
}
