--[[
Concurrency: twin of core's algorithms/concurrency.ts. concurrency() returns:

  acquire(limit, ttl, key, now, mode, id)     1 if allowed or 0, remaining, reset_after, retry_after. A peek has no id
  release(limit, ttl, key, now, mode, id)     1 if the slot was held, or 0
  renew(limit, ttl, key, now, mode, id)       1 if the slot was held, or 0

State: a sorted set of the ids of slots, scored with the time at which a slot expires, in microseconds.
]]
local function concurrency()
  -- The last item of a reply, as a number; 0 if there is none, or if the key has the state of another algorithm.
  local function number_in(key, reply)
    if type(reply) == 'table' then
      if not reply.err then return tonumber(reply[#reply]) or 0 end
      if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
      assert_slot_is_stable(key)
    end
    return tonumber(reply or 0) or 0
  end

  local function expiry_of(key, id)
    return number_in(key, redis.pcall('ZSCORE', key, id))
  end

  -- The expiry of a slot, counted from the newest one, which is number 1.
  local function nth_newest_expiry(key, number)
    return number_in(key, redis.pcall('ZRANGE', key, -number, -number, 'WITHSCORES'))
  end

  -- Lowers every later expiry to `latest`.
  local function cut(key, latest)
    local ids = redis.call('ZRANGEBYSCORE', key, latest + 1, '+inf')
    for _, id in ipairs(ids) do redis.call('ZADD', key, latest, id) end
  end

  local function acquire(limit, ttl, key, now, mode, id)
    -- 1. Clock.
    local latest, newest = now + ttl, nth_newest_expiry(key, 1)
    local moved = newest > latest

    -- 2. State now: the slots that have not expired.
    local used = newest > now and redis.call('ZCOUNT', key, now + 1, '+inf') or 0

    -- 3. Decision. If denied, a slot is free once enough slots have expired to be below the limit.
    local free = math.max(0, limit - used)
    local allowed = free > 0 or id and expiry_of(key, id) > now
    local charged = allowed and mode == 'take'
    local retry_after = allowed and 0 or math.ceil(math.min(latest, nth_newest_expiry(key, limit)) - now)

    -- 4. New state. A concurrency policy has no blocks.
    local added = 0
    block_end, state_room = 0, nil
    if charged or moved and mode ~= 'peek' then
      if used > 0 then
        redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
        if moved then cut(key, latest) end
        if charged then added = redis.call('ZADD', key, latest, id) end
      else
        -- Without slots, the key may have the state of another algorithm. Remove expired slots last, because Redis
        -- deletes an empty set.
        if newest == 0 then redis.call('DEL', key) end
        redis.call('ZADD', key, latest, id)
        redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
        added = 1
      end
      write_state(key, ttl)
    elseif newest > 0 and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
      write_state(key, ttl)
    end

    -- 5. Waits, assuming that no slot is released or renewed.
    local reset_after = charged and ttl or used > 0 and math.ceil(math.min(latest, newest) - now) or 0
    return allowed and 1 or 0, free - added, reset_after, retry_after
  end

  -- Frees a slot.
  local function release(_, _, key, now, _, id)
    local expiry = expiry_of(key, id)
    if expiry > 0 then redis.call('ZREM', key, id) end
    return expiry > now and 1 or 0
  end

  -- Sets the expiry of a slot to `ttl` from now. An expired slot is not renewed: another request may have its place.
  local function renew(_, ttl, key, now, _, id)
    if expiry_of(key, id) <= now then return 0 end
    local latest = now + ttl
    if nth_newest_expiry(key, 1) > latest then cut(key, latest) end
    redis.call('ZADD', key, latest, id)
    block_end, state_room = 0, nil
    write_state(key, ttl)
    return 1
  end

  return acquire, release, renew
end
