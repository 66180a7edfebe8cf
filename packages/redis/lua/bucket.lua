--[[
What the two buckets share: the twin of core's algorithms/bucket.ts.

A rate is n units per d microseconds: a level counts one unit as d and changes by n every microsecond. Whole times are
compared with full / n as it is: rounded down for spanUs, or up for stillCounts, it would come to the same.
script.ts puts this file and exact.lua in place of CONVERT, in the branch for a state of another unit: that is rare, and
elsewhere the functions are not even made.

  convert(level, unit, limit, d, up)   a level counted in another unit, in the policy's own and cut to its capacity
]]
local function convert(level, unit, limit, d, up)
  local whole = math.floor(level / unit)
  if whole >= limit then return limit * d end
  return whole * d + mul_div(level - whole * unit, d, unit, up)
end
