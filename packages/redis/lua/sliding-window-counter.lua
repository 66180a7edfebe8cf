--[[
Sliding window counter: the twin of core's algorithms/sliding-window-counter.ts.

Input:  limit, a = window in microseconds, key, now, cost, mode; of a refund: decided_at in place of mode
State:  c, start, length, prev, curr; see state.lua
Output: allowed, remaining, retry_after, reset_after (microseconds); of a refund: given; of both: known, state, ttl
]]
local window = a
local start, length, prev, curr = read(key, 'c', '<c1dddd', 33)
-- No window is longer than 366 days: that is damage too.
known = start ~= nil and length <= 31622400000000
if not known then start, length, prev, curr = 0, 0, 0, 0 end

local at = now
if start > now and start - now <= window then at = start end

if kind == REFUND then
  given = 0
  if decided_at >= start and decided_at < start + length and at >= start and at < start + 2 * length then
    given = math.min(cost, curr)
    curr = curr - given
  elseif decided_at >= start - length and decided_at < start and at >= start and at < start + length then
    given = math.min(cost, prev)
    prev = prev - given
  end
  ttl = start + 2 * length - now
  if given > 0 then state = prev + curr == 0 and '' or struct.pack('<c1dddd', 'c', start, length, prev, curr) end
else
  local moved = start > at
  if moved then
    start, prev, curr = now - now % length, 0, curr + prev
  end

  if at >= start + 2 * length then
    start, length, prev, curr = at - at % window, window, 0, 0
  elseif at >= start + length then
    start, prev, curr = start + length, curr, 0
  end
  local used = curr
  if prev > 0 then used = curr + mul_div(prev, start + length - at, length, 0) end

  local room = limit - used
  if room < 0 then room = 0 end
  allowed = cost <= room
  local charged = allowed and mode == 'take'
  if not allowed then
    -- The first moment at which what counts as used leaves room for the cost, it being more now.
    local most = limit - cost
    if curr <= most then
      retry_after = start + length - mul_div(most - curr + 1, length, prev, 1) + 1 - now
    else
      retry_after = start + 2 * length - mul_div(most + 1, length, curr, 1) + 1 - now
    end
  end
  if charged and length == window then
    curr = curr + cost
  elseif charged then
    start, length, prev, curr = at - at % window, window, 0, used + cost
  end

  ttl = start + 2 * length - now
  if charged or (moved and mode ~= 'peek') then state = struct.pack('<c1dddd', 'c', start, length, prev, curr) end

  remaining = charged and room - cost or room
  -- And the first at which nothing counts as used.
  if curr > 0 then
    reset_after = ttl - ceil(length / curr) + 1
  elseif used > 0 then
    reset_after = ttl - length - ceil(length / prev) + 1
  end
end
