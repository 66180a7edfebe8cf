--[[
Levels of buckets: twin of core's algorithms/bucket-level.ts.

  convert_level(level, unit, limit, d, rounding)   a level in which one unit counted as `unit`, converted to a level in
                                                   which one unit counts as `d`; at most a full bucket, limit * d
]]
local function convert_level(level, unit, limit, d, rounding)
  -- Whole units first: below the limit, no later value can pass 2^53.
  local whole = math.floor(level / unit)
  if whole >= limit then return limit * d end
  return whole * d + mul_div(level - whole * unit, d, unit, rounding)
end
