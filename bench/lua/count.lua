--[[
The minimum work of a check on Redis: read the time, read a counter, write it with an expiry. No limit, no decision.

Input:  KEYS[1]  the counter
        ARGV[1]  expiry in milliseconds
Output: time in microseconds, count
]]
local time = redis.call('TIME')
local count = tonumber(redis.call('GET', KEYS[1]) or 0) + 1
redis.call('SET', KEYS[1], count, 'PX', ARGV[1])
return { time[1] * 1000000 + time[2], count }
