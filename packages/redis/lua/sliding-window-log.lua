--[[
Sliding window log: the twin of core's algorithms/sliding-window-log.ts.

Input:  policy { limit, a = window in microseconds }, key, now, cost, mode
State:  a list: base, then for each run of units of one moment its time and the running total with it.
        The units of a run are its total less the one before; base is the total before the first. To drop
        the first k runs is LTRIM 2k: what is then first, the k-th total, is the new base.
        A log that was moved from another clock has one more number in front, to be added to every time.
Output: allowed, remaining, retry_after, reset_after, delay (microseconds)
]]
local sliding_window_log = {}
ALGORITHMS.l = sliding_window_log

local function text(number)
  return string.format('%.0f', number)
end

-- A whole number, or an error that `main.lua` answers by letting go of the key.
local function whole(key, value)
  local number = tonumber(value)
  if number and math.abs(number) <= MAX_SAFE then return number end
  error({ damaged = key })
end

local function number_at(key, index)
  return whole(key, redis.call('LINDEX', key, index))
end

-- The log as { shift, offset of base, runs, base, newest time, total }; nothing if there is none to be read.
local function open_log(key)
  local length = answer_of('LLEN', key)
  if type(length) ~= 'number' or length < 3 then return end
  local shifted = length % 2 == 0
  local front = redis.call('LRANGE', key, 0, 1)
  local back = redis.call('LRANGE', key, -2, -1)
  local log = {
    key = key,
    shift = shifted and whole(key, front[1]) or 0,
    offset = shifted and 1 or 0,
    runs = math.floor((length - 1) / 2),
    base = whole(key, shifted and front[2] or front[1]),
    newest = whole(key, back[1]),
    total = whole(key, back[2]),
  }
  log.newest = log.newest + log.shift
  return log
end

local function time_of(log, run)
  return number_at(log.key, log.offset + 2 * run - 1) + log.shift
end

local function total_of(log, run)
  if run == 0 then return log.base end
  return number_at(log.key, log.offset + 2 * run)
end

-- The first run, 1 to runs, for which value(log, run) reaches `target`; runs + 1 if none does.
local function first_run(log, value, target)
  local low, step = 1, 1
  while low + step - 1 <= log.runs and value(log, low + step - 1) < target do
    low = low + step
    step = step * 2
  end
  local high = math.min(low + step - 1, log.runs + 1)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if value(log, middle) >= target then high = middle else low = middle + 1 end
  end
  return low
end

-- How many runs, from the first, are of `horizon` or before.
local function expired_runs(log, horizon)
  if log.newest <= horizon then return log.runs end
  return first_run(log, time_of, horizon + 1) - 1
end

local function expire(key, ttl)
  redis.call('PEXPIRE', key, expiry_ms(ttl))
end

-- Drops the first runs for good.
local function drop(log, runs)
  if runs == 0 then return end
  redis.call('LTRIM', log.key, log.offset + 2 * runs, -1)
  if log.offset == 1 then redis.call('LPUSH', log.key, text(log.shift)) end
end

function sliding_window_log.decide(policy, key, now, cost, mode)
  local limit, window = policy.limit, policy.a
  local log = open_log(key)

  local newest = log and log.newest or 0
  local at = as_of(newest, now, window)
  local moved = newest > at
  if moved then
    log.shift = log.shift + now - newest
    log.newest = now
    if mode ~= 'peek' then
      if log.offset == 1 then
        redis.call('LSET', key, 0, text(log.shift))
      else
        redis.call('LPUSH', key, text(log.shift))
        log.offset = 1
      end
    end
  end

  local expired, before, used = 0, 0, 0
  if log then
    expired = expired_runs(log, at - window)
    before = expired == log.runs and log.total or total_of(log, expired)
    used = log.total - before
    if used < 0 then error({ damaged = key }) end
  end

  local room = math.max(0, limit - used)
  local allowed = cost <= room
  local charged = allowed and mode == 'take'
  local retry_after = 0
  if not allowed then
    local leaves = first_run(log, total_of, before + used + cost - limit)
    retry_after = time_of(log, leaves) + window - now
  end

  local emptied = (used > 0 and log.newest or 0) + window
  if charged then
    emptied = at + window
    if used == 0 then
      redis.call('DEL', key)
      redis.call('RPUSH', key, '0', text(at), text(cost))
    elseif log.newest == at then
      redis.call('LSET', key, -1, text(log.total + cost))
      drop(log, expired)
    else
      drop(log, expired)
      redis.call('RPUSH', key, text(at - log.shift), text(log.total + cost))
    end
    expire(key, emptied - now)
  elseif moved and mode ~= 'peek' then
    drop(log, expired)
    expire(key, emptied - now)
  elseif log and mode ~= 'peek' then
    keep(key, emptied - now)
  end

  local reset_after = (charged or used > 0) and emptied - now or 0
  return allowed, charged and room - cost or room, retry_after, reset_after, 0
end

sliding_window_log.refund = REFUNDS and function(policy, key, now, decided_at, cost)
  local log = open_log(key)
  if not log then return 0 end
  local at = as_of(log.newest, now, policy.a)
  local horizon = at - policy.a
  if decided_at <= horizon then return 0 end
  local run = first_run(log, time_of, decided_at)
  if run > log.runs or time_of(log, run) ~= decided_at then return 0 end
  local units = total_of(log, run) - total_of(log, run - 1)
  local given = math.min(cost, units)
  local expired = expired_runs(log, horizon)
  if given == log.total - total_of(log, expired) then
    redis.call('DEL', key)
    return given
  end
  -- The totals from here on are smaller now; a run of no units is left out.
  local first = log.offset + 2 * run - 1
  local rest = redis.call('LRANGE', key, first, -1)
  redis.call('LTRIM', key, 0, first - 1)
  local from = given == units and 3 or 1
  local chunk = {}
  for i = from, #rest, 2 do
    chunk[#chunk + 1] = rest[i]
    chunk[#chunk + 1] = text(whole(key, rest[i + 1]) - given)
    if #chunk == 1000 then
      redis.call('RPUSH', key, unpack(chunk))
      chunk = {}
    end
  end
  if #chunk > 0 then redis.call('RPUSH', key, unpack(chunk)) end
  drop(log, expired)
  local newest = number_at(key, -2) + log.shift
  expire(key, newest + policy.a - now)
  return given
end
