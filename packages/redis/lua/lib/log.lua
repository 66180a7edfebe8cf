--[[
The log of one key: twin of core's algorithms/log.ts. Units with the same time form a run. A log is a list of numbers:

  index 0             the shift, which is added to every time, so that a log moves to another clock as a whole
  index 1             the base: the number of units that no longer count, which can include a part of the first run
  index 2k, 2k + 1    run k = 1, 2, …: its time, and the number of units up to and including it

A log of at most 64 runs is stored as a string, the letter l and the numbers as doubles. It is read and written as a
whole, which is cheap while it is short. A longer log is stored as a Redis list of the same numbers, which is changed at
its ends. It becomes a string again when a unit is added after all older units have expired. While the key of a list is
blocked, the end and the duration of the block follow the shift, separated by colons.

log_functions() returns a table of:

  open(key, now)                        the log, until the next one is opened; without runs if the key has no valid log.
                                        Sets the block, like read_state.
  number_at(log, index)                 a stored number; sets log.damaged if it is invalid
  first_run(log, field, target)         the first remaining run whose stored time (field 0) or number of units (field 1)
                                        is at least `target`; log.runs + 1 if there is none
  drop_until(log, time)                 drops the runs whose time is `time` or earlier
  keep_newest(log, units)               drops all but the newest `units`
  assert_can_grow(log)                  raises if the next run would turn the string into a list while the slot moves
  append_units(log, time, units, ttl)   adds units at `time`, which is not before the newest run, and stores the log
  store_block(log, ttl)                 stores the block of the key that was read last
  remove_units(log, run, units, ttl)    removes units of one run, and stores the log

A caller that finds log.damaged deletes the key before it writes anything.
]]
local function log_functions()
  -- Reused for every log, because only one log is open at a time.
  local log_table = {}

  local function number_at(log, index)
    local number
    if log.packed then
      number = struct.unpack('<d', log.packed, 2 + 8 * index)
    else
      number = tonumber(redis.call('LINDEX', log.key, index))
    end
    if number and number % 1 == 0 and number >= 0 and number <= 9007199254740991 then return number end
    log.damaged = true
    return 0
  end

  -- The first item of a list.
  local function head_of(shift)
    return string.format(block_end > 0 and '%.0f:%.0f:%.0f' or '%.0f', shift, block_end, block_duration)
  end

  local function open(key, now)
    local runs, shift, base, oldest, newest, total = 0, 0, 0, 0, 0, 0
    block_end, block_left, state_room = 0, 0, nil
    -- MGET returns nothing for a list. GET would count as an error on the server for every long log.
    local packed = stored[key]
    if packed == nil then packed = redis.call('MGET', key)[1] end
    if packed then
      if string.sub(packed, 1, 1) ~= 'l' then packed = prefix_functions().strip(packed, now) end
      runs = (#packed - 17) / 16
      if string.sub(packed, 1, 1) == 'l' and runs % 1 == 0 and runs >= 1 and runs <= 64 then
        shift, base, oldest = struct.unpack('<ddd', packed, 2)
        newest, total = struct.unpack('<dd', packed, #packed - 15)
      else
        packed, runs = nil, 0
      end
    else
      local length = redis.pcall('LLEN', key)
      if type(length) == 'table' then
        if not string.find(length.err, 'WRONGTYPE', 1, true) then error(length) end
        length = 0
      end
      -- Version 0.1.0 left out a shift of 0.
      if length >= 3 and length % 2 == 1 then length = redis.call('LPUSH', key, '0') end
      if length >= 4 then
        runs = length / 2 - 1
        local front, back, NAN = redis.call('LRANGE', key, 0, 2), redis.call('LRANGE', key, -2, -1), 0 / 0
        shift, base, oldest = tonumber(front[1]), tonumber(front[2]) or NAN, tonumber(front[3]) or NAN
        if not shift then
          local head, ends, duration = string.match(front[1], '^(-?%d+):(%d+):(%d+)$')
          shift = tonumber(head) or NAN
          prefix_functions().set_block(tonumber(ends) or 0, tonumber(duration) or 0, now)
        end
        newest, total = tonumber(back[1]) or NAN, tonumber(back[2]) or NAN
      end
    end
    -- A log has no room: a prefix can be that of another algorithm's state.
    state_room = nil
    -- Valid numbers are whole and exact. NaN fails the first test.
    local MAX_SAFE = 9007199254740991
    if shift % 1 + base % 1 + oldest % 1 + newest % 1 + total % 1 ~= 0
      or shift < -MAX_SAFE or base < 0 or oldest < 0 or newest < 0 or total < 0 or shift > MAX_SAFE
      or base > MAX_SAFE or oldest > MAX_SAFE or newest > MAX_SAFE or total > MAX_SAFE then
      assert_slot_is_stable(key)
      write_state(key, 0, '')
      packed, runs, shift, base, oldest, newest, total = nil, 0, 0, 0, 0, 0, 0
    end
    local log = log_table
    log.key, log.packed, log.shift, log.base, log.runs, log.first = key, packed, shift, base, runs, 1
    log.oldest, log.newest, log.total = oldest + shift, newest + shift, total
    log.moved, log.cut, log.damaged = nil, nil, nil
    return log
  end

  local function first_run(log, field, target)
    -- The run is nearly always close to the first, so double the step until the run is passed, then bisect.
    local low, step = log.first, 1
    while low + step - 1 <= log.runs and number_at(log, 2 * (low + step - 1) + field) < target do
      low = low + step
      step = step * 2
    end
    local high = math.min(low + step - 1, log.runs + 1)
    while low < high do
      local middle = math.floor((low + high) / 2)
      if number_at(log, 2 * middle + field) >= target then high = middle else low = middle + 1 end
    end
    return low
  end

  local function drop_until(log, time)
    if log.oldest > time then return end
    if log.newest <= time then
      log.first, log.base = log.runs + 1, log.total
    else
      log.first = first_run(log, 0, time + 1 - log.shift)
      log.base = number_at(log, 2 * log.first - 1)
    end
  end

  local function keep_newest(log, units)
    log.cut, log.base = true, log.total - units
    log.first = first_run(log, 1, log.base + 1)
  end

  local function assert_can_grow(log)
    if log.packed and log.runs - log.first >= 63 then assert_slot_is_stable(log.key) end
  end

  -- Keeps the remaining runs up to `last`. Changes a list in place; for a string, returns the start of the new one.
  local function keep_runs(log, last)
    if log.packed then
      local runs = string.sub(log.packed, 2 + 16 * log.first, 17 + 16 * last)
      return struct.pack('<c1dd', 'l', log.shift, log.base) .. runs
    end
    -- The total of the run before the first becomes the base.
    redis.call('LTRIM', log.key, 2 * log.first - 1, 2 * last + 1)
    redis.call('LPUSH', log.key, head_of(log.shift))
    if log.cut then redis.call('LSET', log.key, 1, string.format('%.0f', log.base)) end
  end

  local function append_units(log, time, units, ttl)
    local key, first, runs, total = log.key, log.first, log.runs, log.total + units
    -- The runs `first` to `last` do not change.
    local last = log.newest == time and runs - 1 or runs
    if first > last then
      write_state(key, ttl, struct.pack('<c1dddd', 'l', 0, 0, time, total - log.base))
      return
    end
    if log.packed and last - first + 2 <= 64 then
      local kept = log.packed
      if first > 1 or last < runs or log.moved or log.cut then kept = keep_runs(log, last) end
      write_state(key, ttl, kept .. struct.pack('<dd', time - log.shift, total))
      return
    end

    if log.packed then
      -- Invalid numbers stay invalid, and are detected when they are read.
      local numbers = { struct.unpack('<' .. string.rep('d', 2 + 2 * runs), log.packed, 2) }
      numbers[1] = head_of(log.shift)
      redis.call('DEL', key)
      redis.call('RPUSH', key, unpack(numbers, 1, 2 + 2 * runs))
      log.packed = nil
    end
    if first > 1 or log.moved or log.cut then keep_runs(log, runs) end
    if last < runs then
      redis.call('LSET', key, -1, string.format('%.0f', total))
    else
      redis.call('RPUSH', key, string.format('%.0f', time - log.shift), string.format('%.0f', total))
    end
    write_state(key, ttl)
  end

  local function remove_units(log, run, units, ttl)
    local key, packed = log.key, log.packed
    -- The numbers from this run on, with smaller totals, without the run if none of its units are left.
    local rest
    if packed then
      local count = 2 * (log.runs - run + 1)
      rest = { struct.unpack('<' .. string.rep('d', count), packed, 2 + 16 * run) }
      rest[count + 1] = nil
    else
      rest = redis.call('LRANGE', key, 2 * run, -1)
    end
    for i = 2, #rest, 2 do rest[i] = (tonumber(rest[i]) or 0 / 0) - units end
    local from = rest[2] == number_at(log, 2 * run - 1) and 3 or 1

    local kept = keep_runs(log, run - 1)
    if packed then
      local numbers = struct.pack('<' .. string.rep('d', #rest - from + 1), unpack(rest, from))
      write_state(key, ttl, kept .. numbers)
    else
      for i = from, #rest, 1000 do
        redis.call('RPUSH', key, unpack(rest, i, math.min(i + 999, #rest)))
      end
      write_state(key, ttl)
    end
  end

  local function store_block(log, ttl)
    if log.packed or log.runs == 0 then
      write_state(log.key, ttl, log.packed or '')
    else
      redis.call('LSET', log.key, 0, head_of(log.shift))
      write_state(log.key, ttl)
    end
  end

  return {
    open = open, number_at = number_at, first_run = first_run, drop_until = drop_until, keep_newest = keep_newest,
    assert_can_grow = assert_can_grow, append_units = append_units, remove_units = remove_units,
    store_block = store_block,
  }
end
