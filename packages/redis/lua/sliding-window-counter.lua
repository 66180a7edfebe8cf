--[[
Sliding window counter: twin of core's algorithms/sliding-window-counter.ts. sliding_window_counter(count_denied)
returns:

  decide(limit, window, _, key, state, now, cost, mode)         allowed, room, retry_after, reset_after
  refund(limit, window, _, key, state, now, cost, decided_at)   the units given back

State: c, start, length, prev, curr
]]
local function sliding_window_counter(count_denied)
  -- No window is longer than 366 days, so a longer one in Redis is invalid.
  local MAX_WINDOW, MAX_SAFE = 31622400000000, 9007199254740991

  -- The first time at which at most `units` count as used. More must be used now.
  local function time_of_use(units, start, length, prev, curr)
    -- A count contributes at most `units` once less than (units + 1) / count of its window still overlaps.
    if curr <= units then return start + length - mul_div(units - curr + 1, length, prev, 'up') + 1 end
    return start + 2 * length - mul_div(units + 1, length, curr, 'up') + 1
  end

  local function decide(limit, window, _, key, state, now, cost, mode)
    local start, length, prev, curr = unpack_state(state, 'c', 4)
    local is_stored = start and length <= MAX_WINDOW
    if not is_stored then start, length, prev, curr = now - now % window, window, 0, 0 end

    -- 1. Clock: if the clock stepped back by at most a window, decide as of the state's window. If it stepped back
    --    further, the state was written under another clock, and both counts move to the current window.
    local at = start > now and start - now <= window and start or now
    local moved = start > at
    if moved then
      start, prev, curr = now - now % length, 0, math.min(MAX_SAFE, curr + prev)
    end

    -- 2. State now: shift the counts to the current window, and estimate the used units.
    if at >= start + 2 * length then
      start, length, prev, curr = at - at % window, window, 0, 0
    elseif at >= start + length then
      start, prev, curr = start + length, curr, 0
    end
    local used = curr
    if prev > 0 then used = math.min(MAX_SAFE, curr + mul_div(prev, start + length - at, length, 'down')) end

    -- 3. Decision.
    local allowed = mode == 'charge' or cost <= limit - used
    local charged = mode ~= 'peek' and (allowed and mode ~= 'repair' or not allowed and count_denied)
    if charged and length ~= window then
      -- The counts belong to windows of another length: their estimate becomes the current count. Its units can no
      -- longer be attributed to reservations, so none are given back.
      start, length, prev, curr = at - at % window, window, 0, used
      state_room = nil
    end
    if charged then curr, used = curr + cost, used + cost end
    if curr > MAX_SAFE then curr = MAX_SAFE end
    if used > MAX_SAFE then used = MAX_SAFE end

    -- 4. New state.
    local ttl = start + 2 * length - now
    if charged or (moved and mode ~= 'peek') then
      write_state(key, ttl, struct.pack('<c1dddd', 'c', start, length, prev, curr))
    elseif is_stored and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
      write_state(key, ttl)
    end

    -- 5. Waits.
    local retry_after = allowed and 0 or time_of_use(limit - cost, start, length, prev, curr) - now
    local reset_after = used > 0 and time_of_use(0, start, length, prev, curr) - now or 0
    return allowed, limit - used, retry_after, reset_after
  end

  -- Gives units back to the window that they were counted in, if it is the current or the previous one.
  local function refund(_, window, _, key, state, now, cost, decided_at)
    local start, length, prev, curr = unpack_state(state, 'c', 4)
    if not start or length > MAX_WINDOW then return 0 end
    local at = start > now and start - now <= window and start or now
    local in_curr = decided_at >= start and decided_at < start + length and at >= start and at < start + 2 * length
    local in_prev = decided_at >= start - length and decided_at < start and at >= start and at < start + length
    local units = math.min(cost, in_curr and curr or in_prev and prev or 0)
    if units == 0 then return 0 end

    if in_curr then curr = curr - units else prev = prev - units end
    if prev + curr == 0 then
      write_state(key, 0, '')
    else
      write_state(key, start + 2 * length - now, struct.pack('<c1dddd', 'c', start, length, prev, curr))
    end
    return units
  end

  return decide, refund
end
