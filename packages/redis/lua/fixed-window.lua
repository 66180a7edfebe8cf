--[[
Fixed window: the twin of core's algorithms/fixed-window.ts.

Input:  policy { limit, a = window in microseconds }, key, now, cost, mode
State:  f, start, length, count; see state.lua
Output: allowed, remaining, retry_after, reset_after, delay (microseconds)
]]
local fixed_window = {}
ALGORITHMS.f = fixed_window

function fixed_window.decide(policy, key, now, cost, mode)
  local limit, window = policy.limit, policy.a
  local start, length, count = read(key, 'f', THREE)
  local known = start ~= nil
  if not known then start, length, count = 0, 0, 0 end

  local at = as_of(start, now, window)
  local moved = start > at
  if moved then start = window_start(now, length) end

  if at >= start + length then
    start, length, count = window_start(at, window), window, 0
  end

  local room = math.max(0, limit - count)
  local allowed = cost <= room
  local charged = allowed and mode == 'take'
  local retry_after = allowed and 0 or start + length - now
  if charged then
    start, length, count = window_start(at, window), window, count + cost
  end

  local finish = start + length
  if charged or (moved and mode ~= 'peek') then
    write(key, finish - now, 'f', THREE, start, length, count)
  elseif known and mode ~= 'peek' then
    keep(key, finish - now)
  end

  return allowed, charged and room - cost or room, retry_after, count == 0 and 0 or finish - now, 0
end

fixed_window.refund = REFUNDS and function(policy, key, now, decided_at, cost)
  local start, length, count = read(key, 'f', THREE)
  if not start then return 0 end
  local finish = start + length
  local at = as_of(start, now, policy.a)
  if at < start or at >= finish or decided_at < start or decided_at >= finish then return 0 end
  local given = math.min(cost, count)
  if given == count then
    redis.call('DEL', key)
  else
    write(key, finish - now, 'f', THREE, start, length, count - given)
  end
  return given
end
