--[[
What every algorithm needs: the clock rule, and reading and writing a state of numbers.

  as_of(newest, now, span)          the moment to decide as of; see core's algorithms/algorithm.ts
  answer_of(command, key)           what Redis answers; nothing if the key is of another type
  read(key, letter, count)          the numbers of a state, or nothing if there is none, or none that can
                                    be read: another type, another algorithm, damaged
  write(key, ttl, format, ...)      a state of numbers, with its expiry
  keep(key, ttl)                    gives a key that has lost its expiry one
  ttl is in microseconds; expiry is relative and rounded up to the next millisecond
]]
local SLACK_MS = 0

local function as_of(newest, now, span)
  if newest > now and newest - now <= span then return newest end
  return now
end

local READ = {
  [3] = ':(%d+):(%d+):(%d+)$',
  [4] = ':(%d+):(%d+):(%d+):(%d+)$',
}

-- Any other error must be seen: a server that may not be read must not look like one without state.
local function answer_of(command, key)
  local answer = redis.pcall(command, key)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if string.find(answer.err, 'WRONGTYPE', 1, true) then return end
  error(answer)
end

local function read(key, letter, count)
  local text = answer_of('GET', key)
  if type(text) ~= 'string' then return end
  local a, b, c, d = string.match(text, '^' .. letter .. READ[count])
  if not a then return end
  a, b, c, d = tonumber(a), tonumber(b), tonumber(c), tonumber(d or 0)
  if a > MAX_SAFE or b > MAX_SAFE or c > MAX_SAFE or d > MAX_SAFE or b == 0 then return end
  return a, b, c, d
end

local function expiry_ms(ttl)
  return string.format('%.0f', math.max(1, math.ceil(ttl / 1000)) + SLACK_MS)
end

local function write(key, ttl, format, ...)
  redis.call('SET', key, string.format(format, ...), 'PX', expiry_ms(ttl))
end

local function keep(key, ttl)
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, expiry_ms(ttl)) end
end

local function window_start(at, length)
  return math.floor(at / length) * length
end
