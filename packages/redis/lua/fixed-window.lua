--[[
Fixed window: twin of core's algorithms/fixed-window.ts. fixed_window(windows, count_denied) returns:

  decide(limit, window, _, key, state, now, cost, mode)         allowed, room, retry_after, reset_after
  refund(limit, window, _, key, state, now, cost, decided_at)   the units given back

`windows` is '' for windows aligned to the epoch, 'f' for windows that begin with the first request, or the boundaries
of calendar windows. If none of these windows contains the time, the functions raise 'stale window' before anything is
written.

State: f, start, length, count
]]
local function fixed_window(windows, count_denied)
  -- No window is longer than 400 days, so a longer one in Redis is invalid.
  local MAX_WINDOW, MAX_SAFE = 34560000000000, 9007199254740991

  -- The start and length of the window of a request at this time.
  local function window_at(time, window)
    if windows == '' then return time - time % window, window end
    if windows == 'f' then return time, window end
    local start
    for text in string.gmatch(windows, '%d+') do
      local boundary = text + 0
      if boundary > time then
        if start then return start, boundary - start end
        break
      end
      start = boundary
    end
    error('stale window', 0)
  end

  local function decide(limit, window, _, key, state, now, cost, mode)
    local start, length, count = unpack_state(state, 'f', 3)
    local is_stored = start and length <= MAX_WINDOW
    if not is_stored then
      start, length = window_at(now, window)
      count = 0
    end

    -- 1. Clock: if the clock stepped back by at most a window, decide as of the state's window. If it stepped back
    --    further, the state was written under another clock, and its count moves to the current window.
    local at = start > now and start - now <= length and start or now
    local moved = start > at
    if moved then start, length = window_at(now, window) end

    -- 2. State now: the count restarts once its window is over.
    if at >= start + length then
      start, length = window_at(at, window)
      count = 0
    end

    -- 3. Decision.
    local allowed = mode == 'charge' or cost <= limit - count
    local charged = mode ~= 'peek' and (allowed and mode ~= 'repair' or not allowed and count_denied)
    if charged then count = count + cost end
    if count > MAX_SAFE then count = MAX_SAFE end

    -- 4. New state.
    local ends_after = start + length - now
    if charged or (moved and mode ~= 'peek') then
      write_state(key, ends_after, struct.pack('<c1ddd', 'f', start, length, count))
    elseif is_stored and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
      write_state(key, ends_after)
    end

    -- 5. Waits.
    return allowed, limit - count, allowed and 0 or ends_after, count == 0 and 0 or ends_after
  end

  -- Gives units back until the end of the window that they were counted in.
  local function refund(_, _, _, key, state, now, cost, decided_at)
    local start, length, count = unpack_state(state, 'f', 3)
    if not start or length > MAX_WINDOW then return 0 end
    local finish = start + length
    local at = start > now and start - now <= length and start or now
    local counts = at >= start and at < finish and decided_at >= start and decided_at < finish
    local units = counts and math.min(cost, count) or 0
    if units == 0 then return 0 end

    -- A window that began with the first request keeps its state: otherwise the next request would begin a new window.
    if units == count and windows ~= 'f' then
      write_state(key, 0, '')
    else
      write_state(key, finish - now, struct.pack('<c1ddd', 'f', start, length, count - units))
    end
    return units
  end

  return decide, refund
end
