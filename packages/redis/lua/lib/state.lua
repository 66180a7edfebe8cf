--[[
The state of a key: a string of one letter for the algorithm and its numbers as doubles. Numbers as text would be easier
to read, but converting them would be the most expensive step of a check. A block and a room precede it: see
lib/prefixes.lua.

  read_state(key, now)                 the state without its prefixes; nil if there is none. Sets its block and room
  unpack_state(state, letter, count)   its three or four numbers; nil if it is not a valid state of this algorithm
  write_state(key, ttl, state)         stores a state for `ttl` microseconds. An empty state deletes the key; without
                                       `state`, only the expiry is set. Keeps the block and the room of the key, which
                                       must be the one that was read last.
  assert_slot_is_stable(key)           raises while the slot of the key moves between two nodes of a cluster
]]

-- The keys of the limits. A call with keys in several slots of a cluster declares none: they are the last arguments,
-- followed by their number.
local keys = KEYS
if #KEYS == 0 then keys = { unpack(ARGV, #ARGV - ARGV[#ARGV], #ARGV - 1) } end

-- The strings by key; false for a key without one. All keys of a call are read with one command, which is faster than
-- one command for each. A missing key is read when it is needed: after a change in place, if the server denies the
-- command, or if the keys are in several slots.
local stored = {}
if #KEYS > 1 then
  local values = redis.pcall('MGET', unpack(KEYS))
  if not values.err then
    for i = 1, #KEYS do stored[KEYS[i]] = values[i] end
  end
end

local function read_state(key, now)
  block_end, block_left, state_room = 0, 0, nil
  local state = stored[key]
  if state == nil then state = redis.pcall('GET', key) end
  -- No state, or three or four numbers without a prefix.
  if not state or #state == 25 or #state == 33 then return state end
  if type(state) == 'string' then return prefix_functions().strip(state, now) end
  -- Raise every other error: a server that denies the read must not look like a key without state.
  if not string.find(state.err, 'WRONGTYPE', 1, true) then error(state) end
end

local function unpack_state(state, letter, count)
  local room = state_room
  -- An invalid state will be replaced, and has no room.
  state_room = nil
  if not state or #state ~= 1 + 8 * count then return end
  -- With three numbers, s is the position after the last one.
  local written_by, p, q, r, s = struct.unpack(count == 3 and '<c1ddd' or '<c1dddd', state)
  -- The second number is a length or a unit, never 0.
  if written_by ~= letter or q == 0 then return end
  -- Valid numbers are whole, 0 to 2^53 - 1. Only the level of a token bucket can be negative. NaN fails the first test.
  if p % 1 + q % 1 + r % 1 + s % 1 ~= 0 or p < 0 and letter ~= 't' or q < 0 or r < 0 or s < 0 then return end
  local MAX_SAFE = 9007199254740991
  if p > MAX_SAFE or p < -MAX_SAFE or q > MAX_SAFE or r > MAX_SAFE or s > MAX_SAFE then return end
  state_room = room
  return p, q, r, s
end

-- The last expiry as text: many keys of a call have the same one, and converting it is expensive.
local px, px_ttl
-- The last state, without its prefixes.
local written

local function write_state(key, ttl, state)
  written = state
  if state_room and state and state ~= '' then state = struct.pack('<c1d', 'o', state_room) .. state end
  if block_end > 0 then
    ttl = math.max(ttl, block_left)
    if state then state = struct.pack('<c1dd', 'x', block_end, block_duration) .. state end
  end
  if state == '' then
    stored[key] = false
    redis.call('DEL', key)
    return
  end
  stored[key] = state
  if ttl ~= px_ttl then
    -- Redis counts an expiry from the start of the current millisecond, so one more keeps it from being too early. In
    -- tests that pass a time, keys must outlive the test.
    local slack_ms = ARGV[1] == '0' and 1 or 3600001
    px, px_ttl = string.format('%.0f', ttl / 1000 + slack_ms), ttl
  end
  if state then redis.call('SET', key, state, 'PX', px) else redis.call('PEXPIRE', key, px) end
end

-- A node whose slot is moving serves only the keys that it still has, so a deleted key cannot be written again. Reads a
-- name in the slot and the namespace of the key that no limit uses: this fails while the slot is moving.
local function assert_slot_is_stable(key)
  redis.call('PTTL', key .. '{' .. key .. '}')
end
