--[[
Fixed window: twin of core's algorithms/fixed-window.ts. fixed_window() returns:

  decide(limit, window, _, key, now, cost, mode)         allowed, remaining, retry_after, reset_after
  refund(limit, window, _, key, now, cost, decided_at)   the units given back

State: f, start, length, count
]]
local function fixed_window()
  -- No window is longer than 366 days. A longer one in Redis is damage.
  local MAX_WINDOW = 31622400000000

  local function decide(limit, window, _, key, now, cost, mode)
    local start, length, count = read_state(key, 'f', 3)
    local known = start and length <= MAX_WINDOW
    if not known then start, length, count = now - now % window, window, 0 end

    -- 1. Clock: if the clock stepped back by at most a window, decide as of the state's window. If it stepped back
    --    further, the state was written under another clock and its count moves into the current window.
    local at = start > now and start - now <= window and start or now
    local moved = start > at
    if moved then start = now - now % length end

    -- 2. State now: the count starts again once its window is over.
    if at >= start + length then
      start, length, count = at - at % window, window, 0
    end

    -- 3. Decision.
    local room = math.max(0, limit - count)
    local allowed = cost <= room
    local charged = allowed and mode == 'take'
    local retry_after = allowed and 0 or start + length - now
    if charged then
      -- An unfinished window of another length hands its count over to the current one.
      start, length, count = at - at % window, window, count + cost
    end

    -- 4. New state.
    local ends_after = start + length - now
    if charged or (moved and mode ~= 'peek') then
      write_state(key, ends_after, struct.pack('<c1ddd', 'f', start, length, count))
    elseif known and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
      write_state(key, ends_after)
    end

    -- 5. Waits.
    return allowed, charged and room - cost or room, retry_after, count == 0 and 0 or ends_after
  end

  -- Gives units back while the window that they were counted in lasts.
  local function refund(_, window, _, key, now, cost, decided_at)
    local start, length, count = read_state(key, 'f', 3)
    if not start or length > MAX_WINDOW then return 0 end
    local finish = start + length
    local at = start > now and start - now <= window and start or now
    local counts = at >= start and at < finish and decided_at >= start and decided_at < finish
    local given = counts and math.min(cost, count) or 0
    if given == 0 then return 0 end

    if given == count then
      redis.call('DEL', key)
    else
      write_state(key, finish - now, struct.pack('<c1ddd', 'f', start, length, count - given))
    end
    return given
  end

  return decide, refund
end
