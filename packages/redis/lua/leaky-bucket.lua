--[[
Leaky bucket: the twin of core's algorithms/leaky-bucket.ts.
The level is what is in it: it falls with time and rises with every request.

Input:  limit, a = n, b = d, key, now, cost, mode; of a refund: decided_at in place of mode
State:  k, level, unit, time; see state.lua
Output: allowed, remaining, retry_after, reset_after, delay (microseconds); of a refund: given; of both: known, state, ttl
]]
local n, d = a, b
local full = limit * d
local level, unit, time = read(key, 'k', '<c1ddd', 25)
known = level ~= nil
if not known then level, unit, time = 0, d, now end

local at = now
if time > now and time - now <= full / n then at = time end
local moved = time > at

if unit ~= d then
  -- CONVERT
  level = convert(level, unit, limit, d, 1)
end
if level > full then level = full end
if not moved then level = level - (at - time) * n end
if level < 0 then level = 0 end

if kind == REFUND then
  given = 0
  if known and decided_at <= at and at - decided_at < full / n then given = math.min(cost * d, level) end
  if given > 0 then
    level = level - given
    ttl = at - now + ceil(level / n)
    state = level == 0 and '' or struct.pack('<c1ddd', 'k', level, d, at)
  end
else
  local room = floor((full - level) / d)
  allowed = cost <= room
  local charged = allowed and mode == 'take'
  if not allowed then
    retry_after = at - now + ceil((level + cost * d - full) / n)
  elseif level > 0 then
    delay = at - now + ceil(level / n)
  end
  if charged then level = level + cost * d end

  ttl = at - now + ceil(level / n)
  if charged or (moved and mode ~= 'peek') then state = struct.pack('<c1ddd', 'k', level, d, at) end

  remaining = charged and room - cost or room
  if level ~= 0 then reset_after = ttl end
end
