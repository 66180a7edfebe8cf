--[[
Decides limits of every algorithm for main.lua. A block is stored beside the state, which continues to count. Only a
take or a repair changes a block: it is removed after its end, and a block from another clock lasts its duration from
now. `logs` are the functions of lib/log.lua if the state is a log, and nil otherwise.

  decide_limits(decide, logs, limit, a, b, first, last, now, cost, mode, block_for, reply)
                            decides keys[first] to keys[last] and writes three numbers for each into the reply; returns
                            the flags of the last. `deciding` is then its index, or that of a key that failed.
  take_up_to(decide, logs, limit, a, b, i, now, least, most, divisor, block_for, reply)
                            takes part of the remaining units, twin of core's store/take-up-to.ts; returns the flags
  add_block(key, logs, now, duration)
                            blocks a key for `duration` microseconds, and returns 0
]]
local deciding = 0

local function add_block(key, logs, now, duration)
  local ttl = math.max(0, redis.call('PTTL', key)) * 1000
  local state = (logs and logs.open or read_state)(key, now)
  prefix_functions().set_block(now + duration, duration, now)
  if logs then logs.store_block(state, ttl) else write_state(key, ttl, state or '') end
  return 0
end

local function update_block(key, logs, now, state)
  local ends = block_left > 0 and now + block_left or 0
  if ends == block_end then return end
  -- Without a state, the key is deleted, and perhaps written again.
  if logs and state.runs == 0 or not logs and (state or '') == '' then assert_slot_is_stable(key) end
  block_end = ends
  local ttl = math.max(0, redis.call('PTTL', key)) * 1000
  if logs then logs.store_block(state, ttl) else write_state(key, ttl, state or '') end
end

local function decide_limits(decide, logs, limit, a, b, first, last, now, cost, mode, block_for, reply)
  local read = logs and logs.open or read_state
  local may_block = block_for > 0 and mode ~= 'peek' and mode ~= 'charge'
  local flags, remaining
  for i = first, last do
    deciding = i
    local key = keys[i]
    local state = read(key, now)
    if block_end > 0 and mode ~= 'peek' and mode ~= 'charge' then update_block(key, logs, now, state) end
    local is_blocked, was_used_up = block_left > 0 and mode ~= 'charge', false
    if may_block and not is_blocked then
      -- A denied cost blocks the key only if no units remained before.
      local _, room = decide(limit, a, b, key, state, now, cost, 'peek')
      was_used_up, state = room <= 0, read(key, now)
    end

    local allowed, room, retry_after, reset_after, delay =
      decide(limit, a, b, key, state, now, cost, is_blocked and mode == 'take' and 'repair' or mode)
    flags, remaining = allowed and 1 or 0, room > 0 and room or 0
    local wait = mode == 'charge' and remaining - room or allowed and (delay or 0) or retry_after
    if is_blocked or was_used_up and not allowed then
      if not is_blocked then add_block(key, logs, now, block_for) end
      flags, remaining = 2, 0
      reset_after, wait = math.max(reset_after, block_left), math.max(retry_after, block_left)
    end

    -- ioredis parses integers close to 2^53 incorrectly.
    local MAX_INTEGER = 4503599627370496
    reply[3 * i - 1] = flags + 8 * remaining
    reply[3 * i] = reset_after < MAX_INTEGER and reset_after or string.format('%.0f', reset_after)
    reply[3 * i + 1] = wait < MAX_INTEGER and wait or string.format('%.0f', wait)
  end
  return flags
end

local function take_up_to(decide, logs, limit, a, b, i, now, least, most, divisor, block_for, reply)
  local key = keys[i]
  local state = (logs and logs.open or read_state)(key, now)
  local cost = least
  if block_left == 0 then
    local allowed, room = decide(limit, a, b, key, state, now, least, 'peek')
    if allowed then cost = math.max(least, math.min(most, math.floor(room / divisor))) end
  end
  local flags = decide_limits(decide, logs, limit, a, b, i, i, now, cost, 'take', block_for, reply)
  if flags % 2 == 1 then
    local window_left = 0
    local letter = written and string.sub(written, 1, 1)
    if letter == 'f' or letter == 'c' then
      local _, start, length = struct.unpack('<c1dd', written)
      window_left = start + length - now
    end
    reply[3 * i + 1] = string.format('%.0f %.0f', cost, window_left)
  end
  return flags
end
