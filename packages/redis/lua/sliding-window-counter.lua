--[[
Sliding window counter: the twin of core's algorithms/sliding-window-counter.ts.

Input:  policy { limit, a = window in microseconds }, key, now, cost, mode
State:  c, start, length, prev, curr; see state.lua
Output: allowed, remaining, retry_after, reset_after, delay (microseconds)
]]
local sliding_window_counter = {}
ALGORITHMS.c = sliding_window_counter

-- The first moment at which no more than `room` counts as used, it being more now.
local function moment_of(room, start, length, prev, curr)
  if curr <= room then return start + length - mul_div(room - curr + 1, length, prev, 1) + 1 end
  return start + 2 * length - mul_div(room + 1, length, curr, 1) + 1
end

function sliding_window_counter.decide(policy, key, now, cost, mode)
  local limit, window = policy.limit, policy.a
  local start, length, prev, curr = read(key, 'c', FOUR)
  local known = start ~= nil
  if not known then start, length, prev, curr = 0, 0, 0, 0 end

  local at = as_of(start, now, window)
  local moved = start > at
  if moved then
    start, curr, prev = window_start(now, length), curr + prev, 0
  end

  if at >= start + 2 * length then
    start, length, prev, curr = window_start(at, window), window, 0, 0
  elseif at >= start + length then
    start, prev, curr = start + length, curr, 0
  end
  local used = curr + mul_div(prev, start + length - at, length, 0)

  local room = math.max(0, limit - used)
  local allowed = cost <= room
  local charged = allowed and mode == 'take'
  local retry_after = allowed and 0 or moment_of(limit - cost, start, length, prev, curr) - now
  if charged and length == window then
    curr = curr + cost
  elseif charged then
    start, length, prev, curr = window_start(at, window), window, 0, used + cost
  end

  if charged or (moved and mode ~= 'peek') then
    write(key, start + 2 * length - now, 'c', FOUR, start, length, prev, curr)
  elseif known and mode ~= 'peek' then
    keep(key, start + 2 * length - now)
  end

  local reset_after = 0
  if charged or used > 0 then reset_after = moment_of(0, start, length, prev, curr) - now end
  return allowed, charged and room - cost or room, retry_after, reset_after, 0
end

sliding_window_counter.refund = REFUNDS and function(policy, key, now, decided_at, cost)
  local start, length, prev, curr = read(key, 'c', FOUR)
  if not start then return 0 end
  local at = as_of(start, now, policy.a)
  if at < start or at >= start + 2 * length then return 0 end
  local given = 0
  if decided_at >= start and decided_at < start + length then
    given = math.min(cost, curr)
    curr = curr - given
  elseif decided_at >= start - length and decided_at < start and at < start + length then
    given = math.min(cost, prev)
    prev = prev - given
  end
  if given == 0 then return 0 end
  if prev == 0 and curr == 0 then
    redis.call('DEL', key)
  else
    write(key, start + 2 * length - now, 'c', FOUR, start, length, prev, curr)
  end
  return given
end
