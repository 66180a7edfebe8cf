--[[
The state of a key: a string of one letter for the algorithm and its numbers as doubles. Numbers as text would be easier
to read, but converting them would be the most expensive step of a check.

  read_state(key, letter, count)   the three or four numbers; nothing if the key has no valid state of this algorithm
  write_state(key, ttl, state)     stores a string for `ttl` microseconds; without `state`, only sets the expiry
]]
local function read_state(key, letter, count)
  local stored = redis.pcall('GET', key)
  if not stored then return end
  if #stored ~= 1 + 8 * count then
    -- Raise every other error: a server that denies the read must not look like a key without state.
    if type(stored) == 'table' and not string.find(stored.err, 'WRONGTYPE', 1, true) then error(stored) end
    return
  end
  -- With three numbers, s is the position after the last.
  local written_by, p, q, r, s = struct.unpack(count == 3 and '<c1ddd' or '<c1dddd', stored)
  -- The second number is a length or a unit, never 0.
  if written_by ~= letter or q == 0 then return end
  -- Valid numbers are whole, 0 to 2^53 - 1. NaN fails the first test.
  if p % 1 + q % 1 + r % 1 + s % 1 ~= 0 or p < 0 or q < 0 or r < 0 or s < 0 then return end
  local MAX_SAFE = 9007199254740991
  if p > MAX_SAFE or q > MAX_SAFE or r > MAX_SAFE or s > MAX_SAFE then return end
  return p, q, r, s
end

-- The last expiry as text. Many keys of one call have the same, and converting it is expensive.
local px, px_ttl

local function write_state(key, ttl, state)
  if ttl ~= px_ttl then
    -- Redis counts an expiry from the start of the current millisecond: with one more, it is never too early. Keys of
    -- tests that pass a time must outlive the test.
    local slack_ms = ARGV[1] == '0' and 1 or 3600001
    px, px_ttl = string.format('%.0f', ttl / 1000 + slack_ms), ttl
  end
  if state then redis.call('SET', key, state, 'PX', px) else redis.call('PEXPIRE', key, px) end
end
