--[[
Sliding window log: the twin of core's algorithms/sliding-window-log.ts.

Input:  limit, a = window in microseconds, key, now, cost, mode; of a refund: decided_at in place of mode
State:  a list: base, then for each run of units of one moment its time and the running total with it.
        The units of a run are its total less the one before; base is the total before the first. To drop
        the first k runs is LTRIM 2k: what is then first, the k-th total, is the new base.
        A log that was moved from another clock has one more number in front, to be added to every time.
        Where the base is at `offset`, the total of run k is at offset + 2k, and its time in front of that.
Output: allowed, remaining, retry_after, reset_after (microseconds); of a refund: given
]]
local window = a
local items = redis.pcall('LLEN', key)
if type(items) == 'table' then
  -- As of state.lua: any error but that of another type must be seen.
  if not string.find(items.err, 'WRONGTYPE', 1, true) then error(items) end
  items = 0
end
local shift, offset, runs, base, oldest, newest, total = 0, 0, 0, 0, 0, 0, 0
if items >= 3 then
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
  if mode ~= 'peek' and offset == 1 then
    redis.call('LSET', key, 0, format('%.0f', shift))
  elseif mode ~= 'peek' then
    redis.call('LPUSH', key, format('%.0f', shift))
    offset = 1
  end
end

-- The runs that are over, and the total with them.
local expired, before = 0, base
if newest <= at - window then
  expired, before = runs, total
elseif oldest <= at - window then
  expired = first_run(key, offset - 1, 1, runs, at - window + 1 - shift) - 1
  before = number_at(key, offset + 2 * expired)
end
local used = total - before
if used < 0 then whole(key, 'less than none') end

if kind == REFUND then
  given = 0
  local run = first_run(key, offset - 1, expired + 1, runs, decided_at - shift)
  if run <= runs and number_at(key, offset + 2 * run - 1) + shift == decided_at then
    local units = number_at(key, offset + 2 * run) - number_at(key, offset + 2 * run - 2)
    given = math.min(cost, units)
    if given == used then
      redis.call('DEL', key)
    else
      -- The totals from here on are smaller now; a run of no units is left out.
      local first = offset + 2 * run - 1
      local rest = redis.call('LRANGE', key, first, -1)
      redis.call('LTRIM', key, 0, first - 1)
      local chunk = {}
      for i = given == units and 3 or 1, #rest, 2 do
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
      local ttl = number_at(key, -2) + shift + window - now
      redis.call('PEXPIRE', key, format('%.0f', ttl / 1000 + slack_ms))
    end
  end
else
  local room = limit - used
  if room < 0 then room = 0 end
  allowed = cost <= room
  local charged = allowed and mode == 'take'
  if not allowed then
    local leaves = first_run(key, offset, expired + 1, runs, total + cost - limit)
    retry_after = number_at(key, offset + 2 * leaves - 1) + shift + window - now
  end

  local ttl = 0
  if charged then
    ttl = at + window - now
  elseif used > 0 then
    ttl = newest + window - now
  end
  if charged and used == 0 then
    redis.call('DEL', key)
    redis.call('RPUSH', key, '0', format('%.0f', at), format('%.0f', cost))
  elseif charged or (moved and mode ~= 'peek') then
    if expired > 0 then
      redis.call('LTRIM', key, offset + 2 * expired, -1)
      if offset == 1 then redis.call('LPUSH', key, format('%.0f', shift)) end
    end
    if charged and newest == at then
      redis.call('LSET', key, -1, format('%.0f', total + cost))
    elseif charged then
      redis.call('RPUSH', key, format('%.0f', at - shift), format('%.0f', total + cost))
    end
  end
  if charged or (mode ~= 'peek' and (moved or runs > 0 and redis.call('PTTL', key) == -1)) then
    redis.call('PEXPIRE', key, format('%.0f', ttl / 1000 + slack_ms))
  end

  remaining = charged and room - cost or room
  reset_after = ttl
end
