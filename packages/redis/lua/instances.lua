--[[
A process says that it is there, and is told who else is.

Input:  KEYS   [1] the sorted set of lines, each with the time in milliseconds at which it was last said
        ARGV   [1] the line of this process
               [2] after how many milliseconds without a word one is gone
               [3] how many lines to answer at most
               [4] how many bytes a line may have; longer ones are not answered
Output: the lines of all that are there, this one too, the newest first
]]
local key, own = KEYS[1], ARGV[1]
local gone_after, max_lines, max_bytes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

redis.call('ZREMRANGEBYSCORE', key, '-inf', now - gone_after)
redis.call('ZADD', key, now, own)
redis.call('PEXPIRE', key, gone_after)

local lines = {}
for _, line in ipairs(redis.call('ZREVRANGEBYSCORE', key, '+inf', now - gone_after, 'LIMIT', 0, max_lines)) do
  if #line <= max_bytes then lines[#lines + 1] = line end
end
return lines
