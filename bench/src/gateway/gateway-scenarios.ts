import { spawnSync } from 'node:child_process'
import type { Turns } from '../load/load-by-turns.js'
import { type Plan, scenarioIn } from '../report/benchmark.js'

/** As many requests as possible, each connection waiting for its response, by turns with `BARE_PROXY`. */
export interface GatewayScenario extends Plan, Turns {
  method: 'GET' | 'POST'
  /** The size of each request body. */
  bodyBytes: number
  users: number
  connections: number
}

export const BARE_PROXY = 'undici, no limiter'
export const GATEWAY = 'gateway'
export const FASTIFY_PROXY = '@fastify/http-proxy + rate-limit'
export const NGINX = 'nginx + limit_req'

const CONTENDERS = hasNginx()
  ? [BARE_PROXY, GATEWAY, FASTIFY_PROXY, NGINX]
  : [BARE_PROXY, GATEWAY, FASTIFY_PROXY]

const TURNS = { turns: 4, secondsPerTurn: 2 }

export const GATEWAY_SCENARIOS = {
  get: {
    title: 'GET, a response of 128 bytes, 10,000 users, 64 connections, one core for the proxy',
    contenders: CONTENDERS,
    method: 'GET',
    bodyBytes: 0,
    users: 10_000,
    connections: 64,
    ...TURNS,
  },
  post: {
    title:
      'POST of 1,024 bytes, a response of 128 bytes, 10,000 users, 64 connections, one core for the proxy',
    contenders: CONTENDERS,
    method: 'POST',
    bodyBytes: 1024,
    users: 10_000,
    connections: 64,
    ...TURNS,
  },
} as const satisfies Readonly<Record<string, GatewayScenario>>

export function gatewayScenarioNamed(name: string): GatewayScenario {
  return scenarioIn<GatewayScenario>(GATEWAY_SCENARIOS, name)
}

/** nginx is only shown for comparison: no promise depends on it. */
export function hasNginx(): boolean {
  return spawnSync('nginx', ['-v']).error === undefined
}

export function nginxVersion(): string {
  const { stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8' })
  return /(\d+\.\d+\.\d+)/.exec(stderr ?? '')?.[1] ?? 'none'
}
