--[[
The least that a check on Redis can be: the time, a read, a write with expiry. No limit, no decision.

Input:  KEYS[1]  the counter
        ARGV[1]  how long it lives, in milliseconds
Output: the time in microseconds, the count
]]
local time = redis.call('TIME')
local count = tonumber(redis.call('GET', KEYS[1]) or 0) + 1
redis.call('SET', KEYS[1], count, 'PX', ARGV[1])
return { time[1] * 1000000 + time[2], count }
