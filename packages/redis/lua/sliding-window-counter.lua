--[[
Sliding window counter: twin of core's algorithms/sliding-window-counter.ts. sliding_window_counter() returns:

  decide(limit, window, _, key, now, cost, mode)         allowed, remaining, retry_after, reset_after
  refund(limit, window, _, key, now, cost, decided_at)   the units given back

State: c, start, length, prev, curr
]]
local function sliding_window_counter()
  -- No window is longer than 366 days. A longer one in Redis is damage.
  local MAX_WINDOW = 31622400000000

  -- The first moment at which at most `units` count as used. More are used now.
  local function time_of_use(units, start, length, prev, curr)
    -- The share of a count is down to `units` once less than (units + 1) / count of its window still overlaps.
    if curr <= units then return start + length - mul_div(units - curr + 1, length, prev, 'up') + 1 end
    return start + 2 * length - mul_div(units + 1, length, curr, 'up') + 1
  end

  local function decide(limit, window, _, key, now, cost, mode)
    local start, length, prev, curr = read_state(key, 'c', 4)
    local known = start and length <= MAX_WINDOW
    if not known then start, length, prev, curr = now - now % window, window, 0, 0 end

    -- 1. Clock: if the clock stepped back by at most a window, decide as of the state's window. If it stepped back
    --    further, the state was written under another clock and both counts move into the current window.
    local at = start > now and start - now <= window and start or now
    local moved = start > at
    if moved then
      start, prev, curr = now - now % length, 0, curr + prev
    end

    -- 2. State now: the counts move on with the windows; the estimate is what counts as used at this moment.
    if at >= start + 2 * length then
      start, length, prev, curr = at - at % window, window, 0, 0
    elseif at >= start + length then
      start, prev, curr = start + length, curr, 0
    end
    local used = prev == 0 and curr or curr + mul_div(prev, start + length - at, length, 'down')

    -- 3. Decision.
    local room = math.max(0, limit - used)
    local allowed = cost <= room
    local charged = allowed and mode == 'take'
    local retry_after = allowed and 0 or time_of_use(limit - cost, start, length, prev, curr) - now
    if charged and length == window then
      curr = curr + cost
    elseif charged then
      -- The counts are of windows of another length: their estimate becomes the current count.
      start, length, prev, curr = at - at % window, window, 0, used + cost
    end

    -- 4. New state.
    local ttl = start + 2 * length - now
    if charged or (moved and mode ~= 'peek') then
      write_state(key, ttl, struct.pack('<c1dddd', 'c', start, length, prev, curr))
    elseif known and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
      write_state(key, ttl)
    end

    -- 5. Waits.
    local in_use = charged or used > 0
    local reset_after = in_use and time_of_use(0, start, length, prev, curr) - now or 0
    return allowed, charged and room - cost or room, retry_after, reset_after
  end

  -- Gives units back to the window that they were counted in, the current or the previous one.
  local function refund(_, window, _, key, now, cost, decided_at)
    local start, length, prev, curr = read_state(key, 'c', 4)
    if not start or length > MAX_WINDOW then return 0 end
    local at = start > now and start - now <= window and start or now
    local in_curr = decided_at >= start and decided_at < start + length and at >= start and at < start + 2 * length
    local in_prev = decided_at >= start - length and decided_at < start and at >= start and at < start + length
    local given = math.min(cost, in_curr and curr or in_prev and prev or 0)
    if given == 0 then return 0 end

    if in_curr then curr = curr - given else prev = prev - given end
    if prev + curr == 0 then
      redis.call('DEL', key)
    else
      write_state(key, start + 2 * length - now, struct.pack('<c1dddd', 'c', start, length, prev, curr))
    end
    return given
  end

  return decide, refund
end
