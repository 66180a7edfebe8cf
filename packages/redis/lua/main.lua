--[[
One call decides many entries in order, each on the state that the ones before it left. An entry is a check, a peek, a
take of several limits, a refund or a reset. src/call.ts writes the input and reads the output.

Input:  KEYS   one for each limit
        ARGV   [1] the time in microseconds, or 0 for the server's own; only tests pass a time
               [2] the number of policies, then four arguments for each: limit, a, b, and the letter of its algorithm.
                   For a window, a is its length in microseconds. For a bucket, a and b are n and d.
               then one argument for each run of limits with the same kind, cost and policy:
                 cost + 2^30 * (kind + 8 * (index of the policy + 1024 * (number of limits - 1))), where kind is
                   0  take: charge the cost if it fits
                   1  peek: change nothing
                   2  together: a take of several limits, all or none. One argument of kind 0 follows for each limit.
                   3  refund of one limit. The time of the decision follows as an argument.
                   4  repair: charge nothing, but move a state from another clock
                   5  reset
Output: the time, then three whole numbers for each limit:
          decided    allowed + 2 * remaining; reset_after; delay if allowed, retry_after if denied
          refunded   the units given back, for buckets times d; 0; 0
          reset      0; 0; 0
          failed     -1; 0; 0
        then one message for each entry that failed. An entry that fails does not affect the others.

Redis creates every function of a script on each call, which costs a lone check more than the decision itself. So an
algorithm is one function that creates the functions it needs, and this file has none. `ARGV[1] + 0` is a number, and
faster than a call of tonumber.
]]
local PEEK, TOGETHER, REFUND, REPAIR, RESET = 1, 2, 3, 4, 5

local now = ARGV[1] + 0
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local reply, failures = { now, 0, 0, 0 }, 0
-- The take of several limits that is being decided: peek at all of them, then take from all, or repair if one denied.
local together
-- The first key of the run, and its argument.
local first, arg = 1, 3 + 4 * ARGV[2]
while first <= #KEYS do
  local rest = ARGV[arg] + 0
  local cost = rest % 1073741824
  rest = (rest - cost) / 1073741824
  local kind = rest % 8
  rest = (rest - kind) / 8
  local policy = rest % 1024
  local last = first + (rest - policy) / 1024
  arg = arg + 1

  if kind == TOGETHER then
    together = { first = first, last = last, arg = arg, mode = 'peek', allowed = true }
  else
    policy = 3 + 4 * policy
    local limit, a, b, letter = ARGV[policy] + 0, ARGV[policy + 1] + 0, ARGV[policy + 2] + 0, ARGV[policy + 3]
    local decide, refund
    if letter == 'f' then
      decide, refund = fixed_window()
    elseif letter == 'l' then
      decide, refund = sliding_window_log()
    elseif letter == 'c' then
      decide, refund = sliding_window_counter()
    elseif letter == 't' then
      decide, refund = token_bucket()
    else
      decide, refund = leaky_bucket()
    end
    local mode = together and together.mode or kind == PEEK and 'peek' or kind == REPAIR and 'repair' or 'take'

    local ok, problem
    for i = first, last do
      local key = KEYS[i]
      local allowed, remaining, retry_after, reset_after, delay
      if kind == RESET then
        ok, problem = pcall(redis.call, 'UNLINK', key)
        reply[3 * i - 1], reply[3 * i], reply[3 * i + 1] = 0, 0, 0
      elseif kind == REFUND then
        ok, problem = pcall(refund, limit, a, b, key, now, cost, ARGV[arg] + 0)
        reply[3 * i - 1], reply[3 * i], reply[3 * i + 1] = problem, 0, 0
        arg = arg + 1
      else
        ok, allowed, remaining, retry_after, reset_after, delay = pcall(decide, limit, a, b, key, now, cost, mode)
        if ok then
          reply[3 * i - 1] = 2 * remaining + (allowed and 1 or 0)
          reply[3 * i], reply[3 * i + 1] = reset_after, retry_after + (delay or 0)
        else
          problem = allowed
        end
      end
      if not ok then
        for j = together and together.first or i, together and together.last or i do
          reply[3 * j - 1], reply[3 * j], reply[3 * j + 1] = -1, 0, 0
        end
        failures = failures + 1
        reply[1 + 3 * #KEYS + failures] = type(problem) == 'table' and problem.err or tostring(problem)
      elseif together and not allowed then
        together.allowed = false
      end
    end

    first = last + 1
    if together and not ok then
      first, arg, together = together.last + 1, together.arg + together.last - together.first + 1, nil
    elseif together and first > together.last then
      if together.mode == 'peek' then
        first, arg = together.first, together.arg
        together.mode = together.allowed and 'take' or 'repair'
      else
        together = nil
      end
    end
  end
end
return reply
