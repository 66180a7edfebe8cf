--[[
Leaky bucket: twin of core's algorithms/leaky-bucket.ts. leaky_bucket() returns:

  decide(limit, n, d, key, now, cost, mode)         allowed, remaining, retry_after, reset_after, delay
  refund(limit, n, d, key, now, cost, decided_at)   the units given back, times d

State: k, level, unit, time. The level is the units in the bucket at `time`, where one unit counts as `unit`.
]]
local function leaky_bucket()
  local function decide(limit, n, d, key, now, cost, mode)
    local full = limit * d
    local level, unit, time = read_state(key, 'k', 3)
    local known = level
    if not known then level, unit, time = 0, d, now end

    -- 1. Clock: if the clock stepped back a little, decide as of the state's time. If it stepped back by more than the
    --    time to drain the bucket, the state was written under another clock and moves to now.
    local at = time > now and time - now <= full / n and time or now
    local moved = time > at

    -- 2. State now: the level, drained up to this moment.
    if unit ~= d then level = convert_level(level, unit, limit, d, 'up') end
    level = math.min(full, level)
    if not moved then level = math.max(0, level - (at - time) * n) end

    -- 3. Decision.
    local room = math.floor((full - level) / d)
    local allowed = cost <= room
    local charged = allowed and mode == 'take'
    local retry_after = allowed and 0 or at - now + math.ceil((level + cost * d - full) / n)
    local delay = allowed and level > 0 and at - now + math.ceil(level / n) or 0
    if charged then level = level + cost * d end

    -- 4. New state.
    local empty_after = at - now + math.ceil(level / n)
    if charged or (moved and mode ~= 'peek') then
      write_state(key, empty_after, struct.pack('<c1ddd', 'k', level, d, at))
    elseif known and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
      write_state(key, empty_after)
    end

    -- 5. Waits.
    return allowed, charged and room - cost or room, retry_after, level == 0 and 0 or empty_after, delay
  end

  -- Takes units out again while the bucket could not have drained completely since `decided_at`.
  local function refund(limit, n, d, key, now, cost, decided_at)
    local full = limit * d
    local level, unit, time = read_state(key, 'k', 3)
    if not level then return 0 end
    local at = time > now and time - now <= full / n and time or now
    if decided_at > at or at - decided_at >= full / n then return 0 end

    if unit ~= d then level = convert_level(level, unit, limit, d, 'up') end
    level = math.max(0, math.min(full, level) - math.max(0, at - time) * n)
    local given = math.min(cost * d, level)
    if given == 0 then return 0 end

    level = level - given
    if level == 0 then
      redis.call('DEL', key)
    else
      write_state(key, at - now + math.ceil(level / n), struct.pack('<c1ddd', 'k', level, d, at))
    end
    return given
  end

  return decide, refund
end
