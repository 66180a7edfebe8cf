--[[
The prefixes of a stored state. The algorithms do not see them.

  x, end, duration   a block. The state continues to count, and may be empty.
  o, room            reservations were charged to this state: see reservations.lua

prefix_functions() returns a table of:

  set_block(ends, duration, now)   makes this the block of the key, or none if it is invalid
  strip(state, now)                the state without its prefixes. Sets the block and the room.
]]

-- The block of the key that was read last: its end, its duration, and its remaining time. 0 without a block, and after
-- its end.
local block_end, block_duration, block_left = 0, 0, 0
-- The room of the key that was read last; nil if no reservation was charged to its state.
local state_room

local function prefix_functions()
  local function set_block(ends, duration, now)
    -- Valid numbers are whole and exact. NaN fails the test.
    if ends > 0 and ends % 1 + duration % 1 == 0 and duration > 0 and duration <= 9007199254740991 then
      block_end, block_duration = ends, duration
      -- A block that seems to last longer than its duration was made under another clock.
      block_left = math.max(0, math.min(ends - now, duration))
    else
      block_end, block_duration, block_left = 0, 0, 0
    end
  end

  local function strip(state, now)
    if #state >= 17 and string.sub(state, 1, 1) == 'x' then
      local ends, duration = struct.unpack('<dd', state, 2)
      set_block(ends, duration, now)
      state = string.sub(state, 18)
    end
    if #state >= 9 and string.sub(state, 1, 1) == 'o' then
      state_room = struct.unpack('<d', state, 2)
      -- An invalid room gives nothing back.
      if state_room ~= state_room or state_room < 0 then state_room = 0 end
      state = string.sub(state, 10)
    end
    return state
  end

  return { set_block = set_block, strip = strip }
end
