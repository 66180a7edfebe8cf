--[[
Token bucket: twin of core's algorithms/token-bucket.ts. token_bucket() returns:

  decide(limit, n, d, key, now, cost, mode)         allowed, remaining, retry_after, reset_after
  refund(limit, n, d, key, now, cost, decided_at)   the units given back, times d

State: t, level, unit, time. The level is the tokens in the bucket at `time`, where one token counts as `unit`.
]]
local function token_bucket()
  local function decide(limit, n, d, key, now, cost, mode)
    local full = limit * d
    local level, unit, time = read_state(key, 't', 3)
    local known = level
    if not known then level, unit, time = full, d, now end

    -- 1. Clock: if the clock stepped back a little, decide as of the state's time. If it stepped back by more than the
    --    time to fill the bucket, the state was written under another clock and moves to now.
    local at = time > now and time - now <= full / n and time or now
    local moved = time > at

    -- 2. State now: the level, refilled up to this moment.
    if unit ~= d then level = convert_level(level, unit, limit, d, 'down') end
    if not moved then level = level + (at - time) * n end
    level = math.min(full, level)

    -- 3. Decision.
    local room = math.floor(level / d)
    local allowed = cost <= room
    local charged = allowed and mode == 'take'
    local retry_after = allowed and 0 or at - now + math.ceil((cost * d - level) / n)
    if charged then level = level - cost * d end

    -- 4. New state.
    local full_after = at - now + math.ceil((full - level) / n)
    if charged or (moved and mode ~= 'peek') then
      write_state(key, full_after, struct.pack('<c1ddd', 't', level, d, at))
    elseif known and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
      write_state(key, full_after)
    end

    -- 5. Waits.
    return allowed, charged and room - cost or room, retry_after, level == full and 0 or full_after
  end

  -- Gives tokens back while the bucket could not have refilled completely since `decided_at`. It never overflows.
  local function refund(limit, n, d, key, now, cost, decided_at)
    local full = limit * d
    local level, unit, time = read_state(key, 't', 3)
    if not level then return 0 end
    local at = time > now and time - now <= full / n and time or now
    if decided_at > at or at - decided_at >= full / n then return 0 end

    if unit ~= d then level = convert_level(level, unit, limit, d, 'down') end
    level = math.min(full, level + math.max(0, at - time) * n)
    local given = math.min(cost * d, full - level)
    if given == 0 then return 0 end

    level = level + given
    if level == full then
      redis.call('DEL', key)
    else
      write_state(key, at - now + math.ceil((full - level) / n), struct.pack('<c1ddd', 't', level, d, at))
    end
    return given
  end

  return decide, refund
end
