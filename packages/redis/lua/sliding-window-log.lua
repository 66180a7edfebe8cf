--[[
Sliding window log: the twin of core's algorithms/sliding-window-log.ts.

Input:  limit, a = window in microseconds, key, now, cost, mode; of a refund: decided_at in place of mode
State:  base, then for each run of units of one moment its time and the running total with it. The units of a
        run are its total less the one before; base is the total before the first. To drop the first k runs is
        to drop 2k numbers: what is then first, the k-th total, is the new base.
        A log begins as a string, as other states are: l, shift, and those numbers. It is read and written whole,
        which is cheap while it is short. With more than PACKED runs it becomes a list of them, in which a log of
        any length is changed at its ends. A list that was moved from another clock has its shift in front.
        The shift is to be added to every time. Where the base is at `offset`, the total of run k is at
        offset + 2k, and its time in front of that.
Output: allowed, remaining, retry_after, reset_after (microseconds), known; of a refund: given; of both: state,
        changed, ttl
]]
local PACKED = 64
local window = a
local items = 0
-- MGET, because of what is no string it says that there is none: to GET, a list would be an error, and be counted as one.
local packed = redis.call('MGET', key)[1]
if not packed and redis.call('TYPE', key).ok == 'list' then
  items = redis.call('LLEN', key)
elseif packed and (string.sub(packed, 1, 1) ~= 'l' or #packed < 33 or #packed % 16 ~= 1 or #packed > 17 + 16 * PACKED) then
  packed = nil
end
if items >= 3 and items <= 2 * PACKED + 2 and limit <= PACKED then
  packed = items % 2 == 0 and 'l' or struct.pack('<c1d', 'l', 0)
  for _, number in ipairs(redis.call('LRANGE', key, 0, -1)) do
    packed = packed .. struct.pack('<d', whole(key, number))
  end
end
local shift, offset, runs, base, oldest, newest, total = 0, 0, 0, 0, 0, 0, 0
if packed then
  offset, runs = 1, (#packed - 17) / 16
  shift, base, oldest = struct.unpack('<ddd', packed, 2)
  newest, total = struct.unpack('<dd', packed, #packed - 15)
  -- As whole() does, without five calls of it.
  local MAX_SAFE = 9007199254740991
  if shift % 1 + base % 1 + oldest % 1 + newest % 1 + total % 1 ~= 0
    or shift > MAX_SAFE or base > MAX_SAFE or oldest > MAX_SAFE or newest > MAX_SAFE or total > MAX_SAFE
    or shift < -MAX_SAFE or base < 0 or oldest < 0 or newest < 0 then
    damaged(key)
  end
  oldest, newest = oldest + shift, newest + shift
elseif items >= 3 then
  local front, back = redis.call('LRANGE', key, 0, 2), redis.call('LRANGE', key, -2, -1)
  if items % 2 == 0 then shift, offset = whole(key, front[1]), 1 end
  runs = (items - 1 - offset) / 2
  base, oldest = whole(key, front[offset + 1]), whole(key, front[offset + 2]) + shift
  newest, total = whole(key, back[1]) + shift, whole(key, back[2])
end

local at = now
if newest > now and newest - now <= window then at = newest end
local moved = newest > at
if moved and kind ~= REFUND then
  shift, oldest, newest = shift + now - newest, oldest + now - newest, now
  if not packed and mode ~= 'peek' and offset == 1 then
    redis.call('LSET', key, 0, format('%.0f', shift))
  elseif not packed and mode ~= 'peek' then
    redis.call('LPUSH', key, format('%.0f', shift))
    offset = 1
  end
end

-- The runs that are over, and the total with them.
local expired, before = 0, base
if newest <= at - window then
  expired, before = runs, total
elseif oldest <= at - window then
  expired = first_run(key, packed, offset - 1, 1, runs, at - window + 1 - shift) - 1
  before = number_at(key, packed, offset + 2 * expired)
end
local used = total - before
if used < 0 then damaged(key) end

if kind == REFUND then
  given = 0
  local run = first_run(key, packed, offset - 1, expired + 1, runs, decided_at - shift)
  if run <= runs and number_at(key, packed, offset + 2 * run - 1) + shift == decided_at then
    local first = offset + 2 * run - 1
    local units = number_at(key, packed, first + 1) - number_at(key, packed, first - 1)
    if units < 0 then damaged(key) end
    given = math.min(cost, units)
    -- The totals from here on are smaller now; a run of no units is left out.
    local next_run = given == units and run + 1 or run
    if given == used then
      state = ''
    elseif packed then
      state = struct.pack('<c1dd', 'l', shift, before) .. string.sub(packed, 18 + 16 * expired, 1 + 8 * first)
      for i = next_run, runs do
        state = state .. struct.pack('<dd', number_at(key, packed, 2 * i), number_at(key, packed, 2 * i + 1) - given)
      end
      ttl = struct.unpack('<d', state, #state - 15) + shift + window - now
      if ttl <= 0 then state = '' end
    else
      local rest = redis.call('LRANGE', key, offset + 2 * next_run - 1, -1)
      redis.call('LTRIM', key, 0, first - 1)
      local chunk = {}
      for i = 1, #rest, 2 do
        chunk[#chunk + 1] = rest[i]
        chunk[#chunk + 1] = format('%.0f', whole(key, rest[i + 1]) - given)
        if #chunk == 1000 then
          redis.call('RPUSH', key, unpack(chunk))
          chunk = {}
        end
      end
      if #chunk > 0 then redis.call('RPUSH', key, unpack(chunk)) end
      if expired > 0 then
        redis.call('LTRIM', key, offset + 2 * expired, -1)
        if offset == 1 then redis.call('LPUSH', key, format('%.0f', shift)) end
      end
      ttl = number_at(key, packed, -2) + shift + window - now
      changed = true
    end
  end
else
  local room = limit - used
  if room < 0 then room = 0 end
  allowed = cost <= room
  local charged = allowed and mode == 'take'
  if not allowed then
    local leaves = first_run(key, packed, offset, expired + 1, runs, total + cost - limit)
    retry_after = number_at(key, packed, offset + 2 * leaves - 1) + shift + window - now
    if retry_after <= 0 then damaged(key) end
  end

  if charged then
    ttl = at + window - now
  elseif used > 0 then
    ttl = newest + window - now
  end
  known = runs > 0
  local writes = charged or (moved and mode ~= 'peek')
  -- The runs that stay as they are.
  local first, last = expired + 1, charged and newest == at and runs - 1 or runs
  if charged and used == 0 then
    state = struct.pack('<c1dddd', 'l', 0, 0, at, cost)
  elseif writes and packed and last - first + (charged and 2 or 1) <= PACKED then
    state = packed
    if moved or first > 1 or last < runs then
      state = struct.pack('<c1dd', 'l', shift, before) .. string.sub(packed, 2 + 16 * first, 17 + 16 * last)
    end
    if charged then state = state .. struct.pack('<dd', at - shift, total + cost) end
  elseif writes and packed then
    -- Charged, for it had no more than PACKED runs. Numbers that are none are found when they are read: other limits of
    -- this take may have been charged already.
    local log = { format('%.0f', before) }
    for i = first, last do
      local time, after = struct.unpack('<dd', packed, 2 + 16 * i)
      log[#log + 1], log[#log + 2] = format('%.0f', time + shift), format('%.0f', after)
    end
    log[#log + 1], log[#log + 2] = format('%.0f', at), format('%.0f', total + cost)
    redis.call('DEL', key)
    redis.call('RPUSH', key, unpack(log))
    changed = true
  elseif writes then
    if expired > 0 then
      redis.call('LTRIM', key, offset + 2 * expired, -1)
      if offset == 1 then redis.call('LPUSH', key, format('%.0f', shift)) end
    end
    if charged and newest == at then
      redis.call('LSET', key, -1, format('%.0f', total + cost))
    elseif charged then
      redis.call('RPUSH', key, format('%.0f', at - shift), format('%.0f', total + cost))
    end
    changed = true
  end

  remaining = charged and room - cost or room
  reset_after = ttl
end
