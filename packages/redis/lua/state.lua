--[[
Reading a state of numbers: a letter for its algorithm and three or four doubles. As text it would be readable by eye,
and turning numbers into text and back would be the most expensive step of a check.

  read(key, letter, layout, bytes)   its numbers, or nothing if there is none, or none that can be read: another type,
                                     another algorithm, damaged
]]
local function read(key, letter, layout, bytes)
  local stored = redis.pcall('GET', key)
  if not stored then return end
  if #stored ~= bytes then
    -- Any other error must be seen: a server that may not be read must not look like one without state.
    if type(stored) == 'table' and not string.find(stored.err, 'WRONGTYPE', 1, true) then error(stored) end
    return
  end
  -- Of three numbers, the fourth is where unpacking ended.
  local written_by, p, q, r, s = struct.unpack(layout, stored)
  if written_by ~= letter or q == 0 then return end
  -- Whole numbers that are exact; what is not a number is none of that.
  if p % 1 + q % 1 + r % 1 + s % 1 ~= 0 or p < 0 or q < 0 or r < 0 or s < 0 then return end
  local MAX_SAFE = 9007199254740991
  if p > MAX_SAFE or q > MAX_SAFE or r > MAX_SAFE or s > MAX_SAFE then return end
  return p, q, r, s
end
