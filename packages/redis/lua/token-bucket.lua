--[[
Token bucket: the twin of core's algorithms/token-bucket.ts.
The level is what is left: it rises with time and falls with every request.

Input:  policy { limit, a = n, b = d, full, span }, key, now, cost, mode
State:  t, level, unit, time; see state.lua
Output: allowed, remaining, retry_after, reset_after, delay (microseconds)
]]
local token_bucket = {}
ALGORITHMS.t = token_bucket

-- A level after `passed` microseconds of refilling; never above full.
local function tokens_after(policy, stored, unit, passed)
  local level = stored
  if unit ~= policy.b then level = convert(policy, stored, unit, 0) end
  return math.min(policy.full, level + passed * policy.a)
end

function token_bucket.decide(policy, key, now, cost, mode)
  local d, full = policy.b, policy.full
  local level, unit, time = read(key, 't', THREE)
  local known = level ~= nil
  if not known then time = now end

  local at = as_of(time, now, policy.span)
  local moved = time > at

  if known then
    level = tokens_after(policy, level, unit, moved and 0 or at - time)
  else
    level = full
  end

  local room = math.floor(level / d)
  local allowed = cost <= room
  local charged = allowed and mode == 'take'
  local retry_after = allowed and 0 or at - now + time_to_flow(policy, cost * d - level)
  if charged then level = level - cost * d end

  local refilled = at + time_to_flow(policy, full - level)
  if charged or (moved and mode ~= 'peek') then
    write(key, refilled - now, 't', THREE, level, d, at)
  elseif known and mode ~= 'peek' then
    keep(key, refilled - now)
  end

  return allowed, charged and room - cost or room, retry_after, level == full and 0 or refilled - now, 0
end

token_bucket.refund = REFUNDS and function(policy, key, now, decided_at, cost)
  local d, full = policy.b, policy.full
  local before, unit, time = read(key, 't', THREE)
  if not before then return 0 end
  local at = as_of(time, now, policy.span)
  if not still_counts(policy, decided_at, at) then return 0 end
  before = tokens_after(policy, before, unit, math.max(0, at - time))
  local given = math.min(cost * d, full - before)
  if given == 0 then return 0 end
  local level = before + given
  if level == full then
    redis.call('DEL', key)
  else
    write(key, at - now + time_to_flow(policy, full - level), 't', THREE, level, d, at)
  end
  return given
end
