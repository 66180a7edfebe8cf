--[[
Reservations: twin of core's reservations/ folder. Beside the state of a key are two more keys. The name of the state's
key is their hash tag, so they are in its slot.

  {key}:r   the open reservations, in a hash by id, so that only one record is read. A record is the letter of
            the algorithm; seq, its number; time and expires_at; units, reserved, charged_at, remaining and reset_after.
            The empty id has the book of the key: see below.
  {key}:e   the ids that have ended, in a sorted set by the time of their end

reservations() returns:

  reserve(decide, logs, letter, limit, a, b, i, now, units, mode, block_for, arg)
    flags, remaining, reset_after, wait, like decide_limits. Flags 4 and 1: the id is open, this is the first decision,
    and the wait is the time of that decision. Flag 4 without 1: too many reservations are open, and the first of them
    ends after the wait. ARGV[arg] and the next two are the id, the ttl and the maximum of open reservations; with a ttl
    of 0, nothing is charged. Raises RESERVATION_ID_USED.

  settle(decide, refund, raise_level, logs, letter, limit, a, b, i, now, actual, arg)
    result, 0, units, over_by. Result 0: the id is unknown. 1: the id has ended. 2: settled, and the units were given
    back, for buckets times d. 3: settled, and the units were charged, over_by of them beyond the limit. ARGV[arg] is
    the id. An actual of -1 undoes the reservation, so that its id can be used again.

The book of a key has the number of its last reservation; the earliest end, negative if the reservation with that end
may have been removed; the latest time and the latest end; and its notes, which are pairs of a seq and a room. The room
of a reservation is the smallest room of the notes with its seq or a later one. A note is dropped when a later one has
the same or a smaller room, so rooms increase from note to note, and the first one is the smallest.
]]
local function reservations()
  local MAX_ROOM, REMEMBERED, MAX_ENDED = 9007199254740991, 60000000, 10000

  -- In tests that pass a time, keys must outlive the test.
  local function px_of(duration)
    return string.format('%.0f', duration / 1000 + (ARGV[1] == '0' and 1 or 3600001))
  end

  local function raise_unless_wrong_type(reply)
    if not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
  end

  local function add_note(notes, seq, room_left)
    local last = #notes
    while last > 0 and notes[last] >= room_left do
      notes[last], notes[last - 1] = nil, nil
      last = last - 2
    end
    notes[last + 1], notes[last + 2] = seq, room_left
  end

  -- The room of the reservation with this number.
  local function room_since(notes, seq)
    for i = 1, #notes, 2 do
      if notes[i] >= seq then return notes[i + 1] end
    end
    return MAX_ROOM
  end

  -- The notes after a raise of the level, which reduces the room of this reservation and later ones.
  local function with_raised_level(notes, seq, raise)
    local lowered = {}
    for i = 1, #notes, 2 do
      add_note(lowered, notes[i], notes[i] >= seq and notes[i + 1] - raise or notes[i + 1])
    end
    return lowered
  end

  local function packed(book)
    local first_end = book.is_exact and book.first_end or -book.first_end
    return struct.pack('<dddd', book.seq, first_end, book.latest_time, book.latest_end)
      .. struct.pack('<' .. string.rep('d', #book.notes), unpack(book.notes))
  end

  -- Reads all records of a book. Removes lapsed records, and notes that no reservation needs.
  local function clean(book, now)
    local fields = redis.call('HGETALL', book.name)
    local seqs, lapsed = {}, {}
    book.first_end, book.is_exact, book.latest_time, book.latest_end = math.huge, true, 0, 0
    for i = 1, #fields, 2 do
      local id, record = fields[i], fields[i + 1]
      if id ~= '' then
        local seq, time, expires_at = 0, 0, 0
        if #record == 65 then seq, time, expires_at = struct.unpack('<ddd', record, 2) end
        -- A record whose time is further ahead than its ttl is from another clock, and has lapsed.
        if expires_at > now and time - now <= expires_at - time then
          seqs[#seqs + 1] = seq
          book.first_end, book.latest_end = math.min(book.first_end, expires_at), math.max(book.latest_end, expires_at)
          book.latest_time = math.max(book.latest_time, time)
        else
          lapsed[#lapsed + 1] = id
        end
      end
    end
    table.sort(seqs)
    -- Of the notes between two reservations, the first is enough.
    local notes, next_seq = {}, 1
    for i = 1, #book.notes, 2 do
      local seq = book.notes[i]
      if seqs[next_seq] and seq >= seqs[next_seq] then
        notes[#notes + 1], notes[#notes + 2] = seq, book.notes[i + 1]
        while seqs[next_seq] and seq >= seqs[next_seq] do next_seq = next_seq + 1 end
      end
    end
    book.notes, book.count = notes, #seqs
    if book.count == 0 then
      redis.call('DEL', book.name)
      -- Raises an error while the slot moves, before anything is charged.
      redis.call('HLEN', book.name)
    else
      if #lapsed > 0 then redis.call('HDEL', book.name, unpack(lapsed)) end
      redis.call('HSET', book.name, '', packed(book))
    end
    for _, id in ipairs(lapsed) do lapsed[id] = true end
    return lapsed
  end

  -- The book of a key, and the record with this id.
  local function open_book(key, now, id)
    local name = '{' .. key .. '}:r'
    local book = {
      name = name, count = 0, seq = 0, first_end = math.huge, is_exact = true, latest_time = 0, latest_end = 0,
      notes = {},
    }
    -- Raises while the slot moves, unless this node has both keys. The node that gets the slot would otherwise treat a
    -- key that has not arrived as one that does not exist.
    redis.call('MGET', name, '{' .. key .. '}:e')
    local found = redis.pcall('HMGET', name, '', id)
    if found.err then raise_unless_wrong_type(found) end
    local text, record = found[1], found[2]
    -- Replace a value that this script has not written.
    if not text or #text < 32 or #text % 16 ~= 0 then
      if found.err or text then redis.call('DEL', name) end
      return book
    end
    local seq, first_end, latest_time, latest_end = struct.unpack('<dddd', text)
    book.seq, book.latest_time, book.latest_end = seq, latest_time, latest_end
    book.first_end, book.is_exact = math.abs(first_end), first_end > 0
    local notes = #text / 8 - 4
    if notes > 0 then
      book.notes = { struct.unpack('<' .. string.rep('d', notes), text, 33) }
      book.notes[notes + 1] = nil
    end
    book.count = redis.call('HLEN', name) - 1
    if now >= book.first_end or now < book.latest_time or notes > 2 * book.count + 64 then
      if clean(book, now)[id] then record = nil end
    end
    if not record or #record ~= 65 then return book end
    return book, record
  end

  local function has_ended(key, now, id)
    local time = redis.pcall('ZSCORE', '{' .. key .. '}:e', id)
    if type(time) == 'table' then return raise_unless_wrong_type(time) end
    return time and time + 0 > now - REMEMBERED
  end

  local function end_id(key, now, id)
    local name, time = '{' .. key .. '}:e', string.format('%.0f', now)
    local added = redis.pcall('ZADD', name, time, id)
    if type(added) == 'table' then
      raise_unless_wrong_type(added)
      redis.call('DEL', name)
      redis.call('ZADD', name, time, id)
    end
    redis.call('ZREMRANGEBYSCORE', name, '-inf', string.format('%.0f', now - REMEMBERED))
    redis.call('ZREMRANGEBYRANK', name, 0, -1 - MAX_ENDED)
    redis.call('PEXPIRE', name, px_of(REMEMBERED))
  end

  -- The three numbers of one limit.
  local function decide_one(decide, logs, limit, a, b, i, now, cost, mode, block_for)
    local numbers = {}
    local flags = decide_limits(decide, logs, limit, a, b, i, i, now, cost, mode, block_for, numbers)
    return flags, (numbers[3 * i - 1] - flags) / 8, tonumber(numbers[3 * i]), tonumber(numbers[3 * i + 1])
  end

  -- ioredis parses integers close to 2^53 incorrectly.
  local function readable(number)
    return number < 4503599627370496 and number or string.format('%.0f', number)
  end

  local function reserve(decide, logs, letter, limit, a, b, i, now, units, mode, block_for, arg)
    local key = keys[i]
    local id, ttl, max_open = ARGV[arg], ARGV[arg + 1] + 0, ARGV[arg + 2] + 0
    local cost = math.min(units, limit)
    local book, record = open_book(key, now, id)
    if record then
      local _, _, time, _, before, reserved, _, remaining, reset_after = struct.unpack('<c1dddddddd', record)
      if before == units and reserved == cost then return 5, remaining, readable(reset_after), time end
    end
    if record or has_ended(key, now, id) then error('RESERVATION_ID_USED', 0) end

    local is_full = book.count >= max_open
    if mode == 'take' and (is_full or ttl == 0) then mode = 'repair' end
    local flags, remaining, reset_after, wait = decide_one(decide, logs, limit, a, b, i, now, cost, mode, block_for)
    if flags ~= 1 then return flags, remaining, readable(reset_after), readable(wait) end
    if is_full then
      if not book.is_exact then clean(book, now) end
      return 4, remaining, readable(reset_after), book.first_end - now
    end
    if mode ~= 'take' then return flags, remaining, readable(reset_after), wait end

    local smallest_room, charged_at = MAX_ROOM, now
    if logs then
      charged_at = logs.open(key, now).newest
    else
      -- Without a room, older reservations were charged to a state that was lost.
      smallest_room = state_room or 0
      if letter ~= 't' then charged_at = math.max(now, (struct.unpack('<d', written, 2))) end
      if state_room ~= MAX_ROOM then
        state_room = MAX_ROOM
        write_state(key, px_ttl, written)
      end
    end
    if book.count > 0 and smallest_room < MAX_ROOM then add_note(book.notes, book.seq, smallest_room) end
    local expires_at = now + ttl
    book.seq = book.seq + 1
    if expires_at <= book.first_end then book.first_end, book.is_exact = expires_at, true end
    book.latest_time, book.latest_end = math.max(book.latest_time, now), math.max(book.latest_end, expires_at)
    local added = struct.pack('<c1ddd', letter, book.seq, now, expires_at)
      .. struct.pack('<ddddd', units, cost, charged_at, remaining, reset_after)
    redis.call('HSET', book.name, '', packed(book), id, added)
    redis.call('PEXPIRE', book.name, px_of(book.latest_end - now))
    return flags, remaining, readable(reset_after), wait
  end

  local function settle(decide, refund, raise_level, logs, letter, limit, a, b, i, now, actual, arg)
    local key = keys[i]
    local id, leaves_mark = ARGV[arg], actual >= 0
    local book, record = open_book(key, now, id)
    -- Needed with a record too: raises an error while the slot moves, before anything is changed.
    local is_ended = has_ended(key, now, id)
    if not record then
      if is_ended then return 1 end
      if leaves_mark then end_id(key, now, id) end
      return 0
    end
    local written_by, seq, _, expires_at, _, reserved, charged_at = struct.unpack('<c1dddddd', record)
    local units, room, units_back, over_by = reserved - math.max(0, actual), room_since(book.notes, seq), 0, 0
    local are_others_open = book.count > 1
    if units < 0 then
      -- Charge first, because a stale window raises an error before anything is written.
      _, _, _, over_by = decide_one(decide, logs, limit, a, b, i, now, -units, 'charge', 0)
    elseif units > 0 and written_by == letter and room > 0 then
      local state = (logs and logs.open or read_state)(key, now)
      if letter == 't' then
        local max_parts = math.min(units * b, room)
        local smallest_room
        units_back, smallest_room = raise_level(limit, a, b, key, state, now, max_parts, are_others_open)
        -- With fewer units charged, the level would have been higher since then.
        if units_back > 0 then
          add_note(book.notes, book.seq, smallest_room)
          book.notes = with_raised_level(book.notes, seq, units_back)
        end
      elseif logs or state_room then
        units_back = refund(limit, a, b, key, state, now, units, charged_at)
      end
    end
    if are_others_open then
      redis.call('HDEL', book.name, id)
      if expires_at == book.first_end then book.is_exact = false end
      redis.call('HSET', book.name, '', packed(book))
    else
      redis.call('DEL', book.name)
    end
    if leaves_mark then end_id(key, now, id) end
    if units < 0 then return 3, 0, -units, readable(over_by) end
    return 2, 0, readable(units_back), 0
  end

  return reserve, settle
end
