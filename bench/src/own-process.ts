import { fork } from 'node:child_process'
import type { Figures } from './figures.js'

/**
 * Node starts four helper threads on every machine, for its compiler and its garbage collector. Where there are fewer
 * processors than that, they take turns with the thread that is measured, for milliseconds at a time. With 0 there are
 * as many as the machine has room for.
 */
const FLAGS = ['--expose-gc', '--v8-pool-size=0']

/**
 * Runs a program that measures and sends its figures. What the engine has learned about one contender must
 * neither help nor hurt another, so each has a process to itself.
 */
export function inOwnProcess(program: URL, args: readonly string[]): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const running = fork(program, args, { execArgv: FLAGS })
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
