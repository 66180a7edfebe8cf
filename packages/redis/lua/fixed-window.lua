--[[
Fixed window: the twin of core's algorithms/fixed-window.ts.

Input:  limit, a = window in microseconds, key, now, cost, mode; of a refund: decided_at in place of mode
State:  f, start, length, count; see state.lua
Output: allowed, remaining, retry_after, reset_after (microseconds); of a refund: given; of both: known, state, ttl
]]
local window = a
local start, length, count = read(key, 'f', '<c1ddd', 25)
-- No window is longer than 366 days: that is damage too.
known = start ~= nil and length <= 31622400000000
if not known then start, length, count = 0, 0, 0 end

local at = now
if start > now and start - now <= window then at = start end

if kind == REFUND then
  given = 0
  local finish = start + length
  if at >= start and at < finish and decided_at >= start and decided_at < finish then given = math.min(cost, count) end
  count = count - given
  ttl = finish - now
  if given > 0 then state = count == 0 and '' or struct.pack('<c1ddd', 'f', start, length, count) end
else
  local moved = start > at
  if moved then start = now - now % length end

  if at >= start + length then
    start, length, count = at - at % window, window, 0
  end

  local room = limit - count
  if room < 0 then room = 0 end
  allowed = cost <= room
  local charged = allowed and mode == 'take'
  if not allowed then retry_after = start + length - now end
  if charged then
    -- A window of another length that is not over yet hands its count to the current one.
    start, length, count = at - at % window, window, count + cost
  end

  ttl = start + length - now
  if charged or (moved and mode ~= 'peek') then state = struct.pack('<c1ddd', 'f', start, length, count) end

  remaining = charged and room - cost or room
  if count > 0 then reset_after = ttl end
end
