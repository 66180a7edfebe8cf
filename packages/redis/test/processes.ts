import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Decision, definePolicy } from '@tidegate/core'
import type { RedisStoreOptions } from '../src/redis-store.js'
import { startAll } from './start-all.js'

/** The options of a policy, which another process creates. */
export type PolicyOptions = Parameters<typeof definePolicy>[0]

/** The result of `load`. */
export interface LoadAnswer {
  allowed: number
  /** The message of each failed check. */
  failures: string[]
  /** The store's time of the earliest and of the latest decision. */
  firstMs: number
  lastMs: number
  /** The process's own clock. */
  clockMs: number
}

/** The result of `hammer`. */
interface HammerAnswer {
  /** The store's time of each allowed check. */
  allowedMs: number[]
  denied: number
  failed: number
}

interface OnKey {
  options: PolicyOptions
  key: string
}

/** A process with a store of the built package: see `load-process.mjs`. */
export interface LoadProcess {
  check(what: OnKey & { cost: number }): Promise<Decision>
  peek(what: OnKey & { cost: number }): Promise<Decision>
  load(what: OnKey & { attempts: number; inFlight: number }): Promise<LoadAnswer>
  hammer(what: OnKey & { durationMs: number; inFlight: number }): Promise<HammerAnswer>
  stop(): Promise<void>
}

export interface LoadProcessOptions {
  redisUrl: string
  /** Default: the default options. */
  store?: RedisStoreOptions
  /** The error of its clock. Default: 0. */
  skewMs?: number
}

export function startProcesses(all: readonly LoadProcessOptions[]): Promise<LoadProcess[]> {
  return startAll(all.map(startProcess))
}

async function startProcess({ redisUrl, store = {}, skewMs = 0 }: LoadProcessOptions): Promise<LoadProcess> {
  const child = fork(PROGRAM, {
    env: {
      ...process.env,
      REDIS_URL: redisUrl,
      STORE_OPTIONS: JSON.stringify(store),
      CLOCK_SKEW_MS: String(skewMs),
    },
  })
  await reply(child)
  function ask<T>(task: string, what: object): Promise<T> {
    const answer = reply(child)
    child.send({ task, ...what })
    return answer as Promise<T>
  }
  return {
    check: (what) => ask('check', what),
    peek: (what) => ask('peek', what),
    load: (what) => ask('load', what),
    hammer: (what) => ask('hammer', what),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}

const PROGRAM = fileURLToPath(new URL('./load-process.mjs', import.meta.url))

function reply(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`the process exited with code ${code}`))
    child.once('exit', ended)
    child.once('message', (message) => {
      child.off('exit', ended)
      resolve(message)
    })
  })
}
