/*
 * Measures how much work runs concurrently: every unit of work is a series of steps, and every step is
 * recorded in Redis. A unit runs from its first step to its end, or to its last step if its process was killed or
 * stopped: a process that is stopped does nothing. It does not depend on limiters.
 */

/** @typedef {import('@tidegate/redis/store-commands').StoreCommands} Redis */

const RUNNING = 'running'
const MOST = 'running-most'
const ENDED = 'running-ended'

/**
 * A unit without a step for so long has been killed or stopped. It is many times the pause between two steps, and much
 * less than the time that a slot of such a process is still taken.
 */
const STILL_MS = 300

/** Records a step, counts the units that run, and keeps the highest count and its units. */
const STEP = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
redis.call('ZADD', KEYS[1], now, ARGV[1])
local running = redis.call('ZRANGEBYSCORE', KEYS[1], now - ${STILL_MS}, '+inf')
if #running > tonumber(redis.call('HGET', KEYS[2], 'count') or 0) then
  redis.call('HSET', KEYS[2], 'count', #running, 'units', table.concat(running, ' '))
end
`

/** @param {Redis} redis @param {string} unit */
export async function stepOf(redis, unit) {
  await redis.send(RUNNING, 'eval', [STEP, '2', RUNNING, MOST, unit])
}

/** @param {Redis} redis @param {string} unit @param {'done' | 'lost'} how whether it was finished, or lost its slot */
export async function endOf(redis, unit, how) {
  await redis.send(RUNNING, 'zrem', [RUNNING, unit])
  await redis.send(ENDED, 'hincrby', [ENDED, how, '1'])
}

/** How many units ended in each way. @param {Redis} redis */
export async function endedUnits(redis) {
  const counts = /** @type {string[]} */ (await redis.send(ENDED, 'hmget', [ENDED, 'done', 'lost']))
  const [done = 0, lost = 0] = counts.map(Number)
  return { done, lost }
}

/** The most units that ran at once, and their names. @param {Redis} redis */
export async function mostAtOnce(redis) {
  const [count, units] = /** @type {string[]} */ (await redis.send(MOST, 'hmget', [MOST, 'count', 'units']))
  return { count: Number(count), units }
}
