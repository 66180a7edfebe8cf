--[[
What every algorithm needs: the clock rule, and reading and writing a state of numbers.

  ALGORITHMS                        by their letters: each file of one adds its own
  as_of(newest, now, span)          the moment to decide as of; see core's algorithms/algorithm.ts
  answer_of(command, key)           what Redis answers; nothing if the key is of another type
  read(key, letter, layout)         the numbers of a state, or nothing if there is none, or none that can
                                    be read: another type, another algorithm, damaged
  write(key, ttl, letter, layout, ...)   a state of numbers, with its expiry
  keep(key, ttl)                    gives a key that has lost its expiry one
  ttl is in microseconds; expiry is relative and rounded up to the next millisecond

Redis runs all of a script every time, definitions included, and for a check by itself they are a good part of what it
costs: what only refunds need is there only where REFUNDS is true.
]]
local ALGORITHMS = {}
local SLACK_MS = 0

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

local function read(key, letter, layout)
  local stored = answer_of('GET', key)
  if not stored or #stored ~= struct.size(layout) then return end
  local written_by, a, b, c, d = struct.unpack(layout, stored)
  if layout == THREE then d = 0 end
  if written_by ~= letter or b == 0 then return end
  -- Whole numbers that are exact; what is not a number is none of that.
  if a % 1 + b % 1 + c % 1 + d % 1 ~= 0 or math.min(a, b, c, d) < 0 or math.max(a, b, c, d) > MAX_SAFE then return end
  return a, b, c, d
end

local function expiry_ms(ttl)
  return string.format('%.0f', math.max(1, math.ceil(ttl / 1000)) + SLACK_MS)
end

local function write(key, ttl, letter, layout, ...)
  redis.call('SET', key, struct.pack(layout, letter, ...), 'PX', expiry_ms(ttl))
end

local function keep(key, ttl)
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, expiry_ms(ttl)) end
end

local function window_start(at, length)
  return math.floor(at / length) * length
end
