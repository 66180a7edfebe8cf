--[[
Leaky bucket: the twin of core's algorithms/leaky-bucket.ts.
The level is what is in it: it falls with time and rises with every request.

Input:  policy { limit, a = n, b = d, full, span }, key, now, cost, mode
State:  k, level, unit, time; see state.lua
Output: allowed, remaining, retry_after, reset_after, delay (microseconds)
]]
local leaky_bucket = {}
ALGORITHMS.k = leaky_bucket

-- A level after `passed` microseconds of draining; never below empty.
local function water_after(policy, stored, unit, passed)
  local level = stored
  if unit == policy.b then
    level = math.min(stored, policy.full)
  else
    level = convert(policy, stored, unit, 1)
  end
  return math.max(0, level - passed * policy.a)
end

function leaky_bucket.decide(policy, key, now, cost, mode)
  local d, full = policy.b, policy.full
  local level, unit, time = read(key, 'k', THREE)
  local known = level ~= nil
  if not known then time = now end

  local at = as_of(time, now, policy.span)
  local moved = time > at

  if known then
    level = water_after(policy, level, unit, moved and 0 or at - time)
  else
    level = 0
  end

  local room = math.floor((full - level) / d)
  local allowed = cost <= room
  local charged = allowed and mode == 'take'
  local retry_after = allowed and 0 or at - now + time_to_flow(policy, level + cost * d - full)
  local delay = allowed and level > 0 and at - now + time_to_flow(policy, level) or 0
  if charged then level = level + cost * d end

  local drained = at + time_to_flow(policy, level)
  if charged or (moved and mode ~= 'peek') then
    write(key, drained - now, 'k', THREE, level, d, at)
  elseif known and mode ~= 'peek' then
    keep(key, drained - now)
  end

  return allowed, charged and room - cost or room, retry_after, level == 0 and 0 or drained - now, delay
end

leaky_bucket.refund = REFUNDS and function(policy, key, now, decided_at, cost)
  local d, full = policy.b, policy.full
  local before, unit, time = read(key, 'k', THREE)
  if not before then return 0 end
  local at = as_of(time, now, policy.span)
  if not still_counts(policy, decided_at, at) then return 0 end
  before = water_after(policy, before, unit, math.max(0, at - time))
  local given = math.min(cost * d, before)
  if given == 0 then return 0 end
  local level = before - given
  if level == 0 then
    redis.call('DEL', key)
  else
    write(key, at - now + time_to_flow(policy, level), 'k', THREE, level, d, at)
  end
  return given
end
