import { spawnSync } from 'node:child_process'
import type { Plan } from './benchmark.js'
import type { Turns } from './load-by-turns.js'

/*
 * The one table of what is measured of the gateway. Each contender is a proxy in a process of its own, on one core, before
 * the same upstream; what it should come to is in `gateway-targets.ts`.
 */

/** As many requests as so many connections can make, each waiting for its answer before it asks again, by turns with `BARE`. */
export interface GatewayScenario extends Plan, Turns {
  method: 'GET' | 'POST'
  /** Of each request. */
  bodyBytes: number
  users: number
  connections: number
}

export const BARE = 'undici, no limiter'
export const OURS = 'gateway'
export const FASTIFY = '@fastify/http-proxy + rate-limit'
export const NGINX = 'nginx + limit_req'

const CONTENDERS = hasNginx() ? [BARE, OURS, FASTIFY, NGINX] : [BARE, OURS, FASTIFY]

const TURNS = { turns: 6, secondsPerTurn: 2 }

export const GATEWAY_SCENARIOS = {
  get: {
    title: 'GET, an answer of 128 bytes, 10,000 users, 64 connections, one core for the proxy',
    rounds: 3,
    contenders: CONTENDERS,
    method: 'GET',
    bodyBytes: 0,
    users: 10_000,
    connections: 64,
    ...TURNS,
  },
  post: {
    title:
      'POST of 1,024 bytes, an answer of 128 bytes, 10,000 users, 64 connections, one core for the proxy',
    rounds: 1,
    contenders: CONTENDERS,
    method: 'POST',
    bodyBytes: 1024,
    users: 10_000,
    connections: 64,
    ...TURNS,
  },
} as const satisfies Readonly<Record<string, GatewayScenario>>

export function gatewayScenarioNamed(name: string): GatewayScenario {
  const scenario = (GATEWAY_SCENARIOS as Readonly<Record<string, GatewayScenario>>)[name]
  if (scenario === undefined) throw new Error(`There is no scenario "${name}".`)
  return scenario
}

/** It is beside the others for the record: without it, nothing that is promised is missing. */
export function hasNginx(): boolean {
  return spawnSync('nginx', ['-v']).error === undefined
}

export function nginxVersion(): string {
  const { stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8' })
  return /(\d+\.\d+\.\d+)/.exec(stderr ?? '')?.[1] ?? 'none'
}
