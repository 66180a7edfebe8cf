import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Decision, definePolicy } from '@tidegate/core'
import type { RedisStoreOptions } from '../src/redis-store.js'
import { startAll } from './start-all.js'

/** What a policy is made of in another process. */
export type PolicyOptions = Parameters<typeof definePolicy>[0]

/** What a process found that checked one key so many times. */
export interface LoadAnswer {
  allowed: number
  /** What each check that failed said. */
  failures: string[]
  /** The store's time of the earliest and of the latest decision. */
  firstMs: number
  lastMs: number
  /** The process's own clock. */
  clockMs: number
}

/** What a process found that checked one key for so long. */
interface HammerAnswer {
  /** The store's time of everything that was allowed. */
  allowedMs: number[]
  refused: number
  failed: number
}

interface OnKey {
  options: PolicyOptions
  key: string
}

/** A process of its own with a store of the built package: `load-process.mjs`. */
export interface LoadProcess {
  check(what: OnKey & { cost: number }): Promise<Decision>
  peek(what: OnKey & { cost: number }): Promise<Decision>
  load(what: OnKey & { attempts: number; inFlight: number }): Promise<LoadAnswer>
  hammer(what: OnKey & { durationMs: number; inFlight: number }): Promise<HammerAnswer>
  stop(): Promise<void>
}

export interface LoadProcessOptions {
  redisUrl: string
  /** Default: as users get it. */
  store?: RedisStoreOptions
  /** How wrong its clock is. Default: 0. */
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
    const ended = (code: number | null) => reject(new Error(`a process ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (message) => {
      child.off('exit', ended)
      resolve(message)
    })
  })
}
