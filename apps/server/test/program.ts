import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../..', import.meta.url))

/** A program that a test has started, with its URL. */
export interface RunningProgram {
  readonly url: string
  /** Its output, line by line. */
  readonly lines: readonly string[]
  /** Sends SIGTERM. Resolves to the exit code. */
  stop(): Promise<number | null>
}

export interface Start {
  readonly command: string
  readonly args: readonly string[]
  /** Its whole environment, besides PATH. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Run as this user and group, which only a test that runs as root can do. */
  readonly uid?: number | undefined
}

/** Starts a program, and waits until a line of its output has an address. */
export async function startProgram({ command, args, env = {}, cwd, uid }: Start): Promise<RunningProgram> {
  const { PATH = '' } = process.env
  const child = spawn(command, args, {
    env: { PATH, ...env },
    cwd,
    ...(uid === undefined ? {} : { uid, gid: uid }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve(code))
  })
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on('line', (line) => {
        lines.push(line)
        const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)
        if (url !== null) resolve(url[0])
      })
    }
    ended.then((code) => reject(new Error(`${command} exited with ${code}:\n${lines.join('\n')}`)), reject)
  })
  return {
    url,
    lines,
    stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}
