--[[
Levels of buckets: twin of core's algorithms/bucket-level.ts.

  convert_level(level, unit, d, rounding)   a level in which one unit counted as `unit`, converted to a level in which
                                            one unit counts as `d`; its absolute value is at most 2^53 - 1
]]
local function convert_level(level, unit, d, rounding)
  local sign = 1
  if level < 0 then sign, level, rounding = -1, -level, rounding == 'down' and 'up' or 'down' end
  -- Convert whole units and the rest separately, so that the products stay small.
  local whole = math.floor(level / unit)
  local rest = mul_div(level - whole * unit, d, unit, rounding)
  return sign * math.min(9007199254740991, whole * d + rest)
end
