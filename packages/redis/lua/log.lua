--[[
Reading a log; its two layouts are in sliding-window-log.lua. `packed` is one that is a string; without it, it is the list.

  damaged(key)                               deletes the log, and the entry is decided once more, without it
  whole(key, value)                          a whole number; if it is not one, the log is damaged
  number_at(key, packed, index)              the one at that place; if there is none, the log is damaged
  first_run(key, packed, index, run, runs, target)
                                             the first run, `run` to `runs`, whose number at index + 2 * run reaches
                                             `target`; runs + 1 if none does
]]
local function damaged(key)
  redis.call('DEL', key)
  error({ damaged = true })
end

local function whole(key, value)
  local number = tonumber(value)
  if number and number % 1 == 0 and number >= -9007199254740991 and number <= 9007199254740991 then return number end
  damaged(key)
end

local function number_at(key, packed, index)
  if packed then return whole(key, 9 + 8 * index <= #packed and struct.unpack('<d', packed, 2 + 8 * index)) end
  return whole(key, redis.call('LINDEX', key, index))
end

local function first_run(key, packed, index, run, runs, target)
  local low, step = run, 1
  while low + step - 1 <= runs and number_at(key, packed, index + 2 * (low + step - 1)) < target do
    low = low + step
    step = step * 2
  end
  local high = math.min(low + step - 1, runs + 1)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if number_at(key, packed, index + 2 * middle) >= target then high = middle else low = middle + 1 end
  end
  return low
end
