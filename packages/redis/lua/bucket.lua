--[[
What the two buckets share: the twin of core's algorithms/bucket.ts.

A rate is n units per d microseconds: a level counts one unit as d and changes by n every microsecond.
policy { limit = capacity, a = n, b = d, full = capacity * d, span = floor(full / n) }
]]
local function time_to_flow(policy, amount)
  return math.ceil(amount / policy.a)
end

-- A level counted in another unit, in the policy's own and cut to its capacity.
local function convert(policy, level, unit, up)
  local whole = math.floor(level / unit)
  if whole >= policy.limit then return policy.full end
  return whole * policy.b + mul_div(level - whole * unit, policy.b, unit, up)
end

local still_counts = REFUNDS and function(policy, decided_at, at)
  return decided_at <= at and at - decided_at < time_to_flow(policy, policy.full)
end
