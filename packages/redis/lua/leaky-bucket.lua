--[[
Leaky bucket: twin of core's algorithms/leaky-bucket.ts. leaky_bucket() returns:

  decide(limit, n, d, key, state, now, cost, mode)         allowed, room, retry_after, reset_after, delay
  refund(limit, n, d, key, state, now, cost, decided_at)   the units given back, times d

State: k, level, unit, time. The level is the number of units in the bucket at `time`, where one unit counts as `unit`.
After a charge of more than fits, it is above the capacity.
]]
local function leaky_bucket()
  local function decide(limit, n, d, key, state, now, cost, mode)
    local full, MAX_SAFE = limit * d, 9007199254740991
    local level, unit, time = unpack_state(state, 'k', 3)
    local is_stored = level
    if not is_stored then level, unit, time = 0, d, now end

    -- 1. Clock: if the clock stepped back a little, decide as of the state's time. If it stepped back by more than the
    --    time to drain the bucket, the state was written under another clock and moves to now.
    local at = time > now and time - now <= full / n and time or now
    local moved = time > at

    -- 2. State now: the level, drained up to this moment.
    if unit ~= d then level = convert_level(level, unit, d, 'up') end
    if not moved then level = math.max(0, level - (at - time) * n) end

    -- 3. Decision.
    local allowed = mode == 'charge' or cost <= math.floor((full - level) / d)
    local charged = allowed and mode ~= 'peek' and mode ~= 'repair'
    local delay = allowed and level > 0 and at - now + math.ceil(level / n) or 0
    if charged then level = level + cost * d end
    if level > MAX_SAFE then level = MAX_SAFE end

    -- 4. New state.
    local empty_after = at - now + math.ceil(level / n)
    if charged or (moved and mode ~= 'peek') then
      write_state(key, empty_after, struct.pack('<c1ddd', 'k', level, d, at))
    elseif is_stored and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
      write_state(key, empty_after)
    end

    -- 5. Waits.
    local retry_after = allowed and 0 or at - now + math.ceil((level - full + cost * d) / n)
    return allowed, math.floor((full - level) / d), retry_after, level == 0 and 0 or empty_after, delay
  end

  -- Removes units, unless the bucket could have drained completely since `decided_at`.
  local function refund(limit, n, d, key, state, now, cost, decided_at)
    local full = limit * d
    local level, unit, time = unpack_state(state, 'k', 3)
    if not level then return 0 end
    local at = time > now and time - now <= full / n and time or now
    if decided_at > at or at - decided_at >= full / n then return 0 end

    if unit ~= d then level = convert_level(level, unit, d, 'up') end
    level = math.max(0, level - math.max(0, at - time) * n)
    local parts = math.min(cost * d, level)
    if parts == 0 then return 0 end

    level = level - parts
    if level == 0 then
      write_state(key, 0, '')
    else
      write_state(key, at - now + math.ceil(level / n), struct.pack('<c1ddd', 'k', level, d, at))
    end
    return parts
  end

  return decide, refund
end
