--[[
What every algorithm needs: the clock rule, and reading and writing a state of numbers.

  ALGORITHMS                        by their letters: each file of one adds its own
  as_of(newest, now, span)          the moment to decide as of; see core's algorithms/algorithm.ts
  answer_of(command, key)           what Redis answers; nothing if the key is of another type
  read(key, letter, layout)         the numbers of a state, or nothing if there is none, or none that can
                                    be read: another type, another algorithm, damaged
  write(key, ttl, letter, layout, ...)   a state of numbers, with its expiry
  keep(key, ttl)                    gives a key that has lost its expiry one
  text(number)                      a whole number as it is written
  ttl is in microseconds; expiry is relative and rounded up to the next millisecond
]]
local ALGORITHMS = {}
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local SLACK_MS = 0

-- To write a number with %d takes half as long as with %.0f, but it is as wide as the server's C long.
local WHOLE = string.format('%d', MAX_SAFE) == '9007199254740991' and '%d' or '%.0f'

local function text(number)
  return string.format(WHOLE, number)
end

local function as_of(newest, now, span)
  if newest > now and newest - now <= span then return newest end
  return now
end

-- Any other error must be seen: a server that may not be read must not look like one without state.
local function answer_of(command, key)
  local answer = redis.pcall(command, key)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if string.find(answer.err, 'WRONGTYPE', 1, true) then return end
  error(answer)
end

-- A state is a letter for its algorithm and three or four doubles: as text it would be readable by eye, and
-- turning numbers into text and back would be the most expensive step of a check.
local THREE = '<c1ddd'
local FOUR = '<c1dddd'
local LENGTH = { [THREE] = 25, [FOUR] = 33 }

local function is_whole(number)
  return number >= 0 and number <= MAX_SAFE and number % 1 == 0
end

local function read(key, letter, layout)
  local stored = answer_of('GET', key)
  if not stored or #stored ~= LENGTH[layout] then return end
  local written_by, a, b, c, d = struct.unpack(layout, stored)
  if layout == THREE then d = 0 end
  if written_by ~= letter or b == 0 then return end
  if not (is_whole(a) and is_whole(b) and is_whole(c) and is_whole(d)) then return end
  return a, b, c, d
end

local function expiry_ms(ttl)
  return text(max(1, ceil(ttl / 1000)) + SLACK_MS)
end

local function write(key, ttl, letter, layout, ...)
  redis.call('SET', key, struct.pack(layout, letter, ...), 'PX', expiry_ms(ttl))
end

local function keep(key, ttl)
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, expiry_ms(ttl)) end
end

local function window_start(at, length)
  return floor(at / length) * length
end
