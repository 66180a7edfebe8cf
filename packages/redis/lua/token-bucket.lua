--[[
Token bucket: twin of core's algorithms/token-bucket.ts. token_bucket() returns:

  decide(limit, n, d, key, state, now, cost, mode)         allowed, room, retry_after, reset_after
  refund(limit, n, d, key, state, now, cost, decided_at)   the units given back, times d
  raise_level(limit, n, d, key, state, now, max_parts, are_others_open)
                                                           the raise in parts of a unit, the smallest room before

State: t, level, unit, time. The level is the number of tokens in the bucket at `time`, where one token counts as
`unit`. It is negative after a charge of more than the bucket held. The room of the state is the smallest room above the
level since a reservation was last made or given back, in the same unit; 0 after a change of the unit.
]]
local function token_bucket()
  local function decide(limit, n, d, key, state, now, cost, mode)
    local full, MAX_SAFE = limit * d, 9007199254740991
    local level, unit, time = unpack_state(state, 't', 3)
    local is_stored = level
    if not is_stored then level, unit, time = full, d, now end

    -- 1. Clock: if the clock stepped back a little, decide as of the state's time. If it stepped back by more than the
    --    time to fill the bucket, the state was written under another clock and moves to now.
    local at = time > now and time - now <= full / n and time or now
    local moved = time > at

    -- 2. State now: the level, refilled up to this moment.
    if unit ~= d then
      level = convert_level(level, unit, d, 'down')
      if state_room then state_room = 0 end
    end
    if level < full - MAX_SAFE then level = full - MAX_SAFE end
    if not moved then level = level + (at - time) * n end
    if level > full then level = full end
    if state_room then state_room = math.min(state_room, full - level) end

    -- 3. Decision.
    local allowed = mode == 'charge' or cost <= math.floor(level / d)
    local charged = allowed and mode ~= 'peek' and mode ~= 'repair'
    if charged then level = level - cost * d end
    if level < full - MAX_SAFE then level = full - MAX_SAFE end

    -- 4. New state.
    local full_after = at - now + math.ceil((full - level) / n)
    if charged or (moved and mode ~= 'peek') then
      write_state(key, full_after, struct.pack('<c1ddd', 't', level, d, at))
    elseif is_stored and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
      write_state(key, full_after)
    end

    -- 5. Waits.
    local retry_after = allowed and 0 or at - now + math.ceil((cost * d - level) / n)
    return allowed, math.floor(level / d), retry_after, level == full and 0 or full_after
  end

  -- The level in parts of d, refilled for `elapsed`.
  local function level_at(full, n, d, level, unit, elapsed)
    if unit ~= d then
      level = convert_level(level, unit, d, 'down')
      if state_room then state_room = 0 end
    end
    return math.min(full, math.max(full - 9007199254740991, level) + math.max(0, elapsed) * n)
  end

  -- Gives tokens back, up to the capacity, unless the bucket could have refilled completely since `decided_at`.
  local function refund(limit, n, d, key, state, now, cost, decided_at)
    local full = limit * d
    local level, unit, time = unpack_state(state, 't', 3)
    if not level then return 0 end
    local at = time > now and time - now <= full / n and time or now
    if decided_at > at or at - decided_at >= full / n then return 0 end

    level = level_at(full, n, d, level, unit, at - time)
    local parts = math.min(cost * d, full - level)
    if parts == 0 then return 0 end

    level = level + parts
    if state_room then state_room = math.min(state_room, full - level) end
    if level == full then
      write_state(key, 0, '')
    else
      write_state(key, at - now + math.ceil((full - level) / n), struct.pack('<c1ddd', 't', level, d, at))
    end
    return parts
  end

  -- Gives back part of a reservation: raises the level by up to `max_parts` of the unit, but not by more than the
  -- smallest room so far. Returns the raise and that room.
  local function raise_level(limit, n, d, key, state, now, max_parts, are_others_open)
    local full = limit * d
    local level, unit, time = unpack_state(state, 't', 3)
    if not level then return 0, 0 end
    local at = time > now and time - now <= full / n and time or now
    level = level_at(full, n, d, level, unit, at - time)
    local smallest_room = math.min(state_room or 0, full - level)
    local parts = math.min(max_parts, smallest_room)
    level = level + parts
    if level == full then
      write_state(key, 0, '')
    else
      -- After a raise, the smallest room is tracked again from the new level.
      state_room = are_others_open and (parts > 0 and 9007199254740991 or smallest_room) or nil
      write_state(key, at - now + math.ceil((full - level) / n), struct.pack('<c1ddd', 't', level, d, at))
    end
    return parts, smallest_room
  end

  return decide, refund, raise_level
end
