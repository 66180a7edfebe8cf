--[[
Records that a process is active, and lists the active processes.

Input:  KEYS   [1] the sorted set: one line for each process, scored with the time of its last report in milliseconds
        ARGV   [1] the line of this process
               [2] the age in milliseconds at which a line is removed
               [3] the maximum number of lines to return
               [4] the maximum length of a line in bytes; longer lines are not returned
Output: the lines of all active processes, including this one, newest first
]]
local key, line = KEYS[1], ARGV[1]
local max_age, max_lines, max_bytes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

redis.call('ZREMRANGEBYSCORE', key, '-inf', now - max_age)
redis.call('ZADD', key, now, line)
redis.call('PEXPIRE', key, max_age)

local lines = {}
for _, each in ipairs(redis.call('ZREVRANGEBYSCORE', key, '+inf', now - max_age, 'LIMIT', 0, max_lines)) do
  if #each <= max_bytes then lines[#lines + 1] = each end
end
return lines
