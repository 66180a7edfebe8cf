--[[
One call decides many entries in order, each on the state that the ones before it left. An entry is a check, a peek, a
take of several limits, or one of the operations below. src/script/protocol.ts writes the input and reads the output.

Input:  KEYS   one for each limit, or none: then the keys are the last arguments, followed by their number
        ARGV   [1] the time in microseconds, or 0 for the server's own; only tests pass a time
               [2] the number of policies, then four arguments for each: limit, a, b, and the letter of its algorithm.
                   For a window, a is its length in microseconds. For a bucket, a and b are n and d. For a concurrency
                   policy, a is its ttl in microseconds. A policy with options has them after its letter, separated by
                   spaces: block_for in microseconds, 0 for none; count_denied, 1 or 0; and the windows of a fixed
                   window, see there.
               then one argument for each run of limits with the same kind, cost and policy:
                 cost + 2^29 * (kind + 16 * (index of the policy + 1024 * (number of limits - 1))). A cost of 2^29 or
                 more, or of 0 or less, is left out and follows as an argument of its own. The kind is
                    0  take: charge the cost if it fits. For a concurrency policy, the id of the slot follows.
                    1  peek: change nothing
                    2  together: several limits, all or none; the cost is 1. A run of kind 0 or 8 follows for each.
                    3  refund. The time of the decision follows.
                    4  repair: charge nothing that fits, but move a state from another clock. For a concurrency policy,
                       the id of the slot follows.
                    5  reset
                    6  charge the cost whether or not it fits
                    7  block. The cost is the duration in microseconds.
                    8  reserve. The id, the ttl in microseconds and the most open reservations follow.
                    9  settle. The cost is the actual one; the id follows.
                   10  release a slot. The id follows.
                   11  renew a slot. The id follows.
                   12  take up to: the cost is the fewest units. The most units and the divisor follow.
                 A run with arguments that follow has one limit.
Output: the time, then three whole numbers for each limit, as text if they are 2^52 or more:
          decided    flags + 8 * remaining; reset_after; delay if allowed, retry_after if denied, and for a charge the
                     units over the limit. Flags: 1 allowed, 2 blocked, 4 see reservations.lua
          refunded   the units given back, for buckets times d; 0; 0
          settled    see reservations.lua
          taken      as decided. If allowed, the third is a text of two numbers: the units, and how long until their
                     window ends, 0 if they are not of a window.
          reset, block   0; 0; 0
          failed     -1; 0; 0
          stale      -2; 0; 0: not executed, because the time is in none of the calendar windows that were passed
        then one message for each entry that failed. An entry that fails does not affect the others.

An entry reads all its keys before it changes anything that counts, and deletes a key that it writes again only if its
slot is stable. So an entry whose key is on another node, or is moving there, has not been executed when it fails, and
can be sent again.

Redis creates every function of a script on each call, which costs a lone check more than the decision itself. So an
algorithm is one function that creates the functions it needs, and this file has none. `ARGV[1] + 0` is a number, and
faster than a call of tonumber.
]]
local PEEK, TOGETHER, REFUND, REPAIR, RESET, CHARGE, BLOCK = 1, 2, 3, 4, 5, 6, 7
local RESERVE, SETTLE, RELEASE, RENEW, TAKE_UP_TO = 8, 9, 10, 11, 12

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
while first <= #keys do
  local rest = ARGV[arg] + 0
  local cost = rest % 536870912
  rest = (rest - cost) / 536870912
  local kind = rest % 16
  rest = (rest - kind) / 16
  local policy = rest % 1024
  local last = first + (rest - policy) / 1024
  arg = arg + 1
  if cost == 0 then cost, arg = ARGV[arg] + 0, arg + 1 end

  if kind == TOGETHER then
    together = { first = first, last = last, arg = arg, mode = 'peek', allowed = true }
  else
    policy = 3 + 4 * policy
    local limit, a, b, letter = ARGV[policy] + 0, ARGV[policy + 1] + 0, ARGV[policy + 2] + 0, ARGV[policy + 3]
    local block_for, count_denied, windows = 0, false, ''
    if #letter > 1 then
      letter, block_for, count_denied, windows = string.match(letter, '^(.) (%d+) (%d) (.*)$')
      block_for, count_denied = block_for + 0, count_denied == '1'
    end
    -- The functions that read and write a log; nil for other states.
    local decide, refund, logs, raise_level
    if letter == 'f' then
      decide, refund = fixed_window(windows, count_denied)
    elseif letter == 'l' then
      decide, refund, logs = sliding_window_log(count_denied)
    elseif letter == 'c' then
      decide, refund = sliding_window_counter(count_denied)
    elseif letter == 't' then
      decide, refund, raise_level = token_bucket()
    elseif letter == 'k' then
      decide, refund = leaky_bucket()
    end
    local mode = together and together.mode or kind == PEEK and 'peek' or kind == REPAIR and 'repair'
      or kind == CHARGE and 'charge' or 'take'

    local i = first
    while i <= last and not (together and together.failed) do
      local key = keys[i]
      local ok, flags, remaining, reset_after, wait, is_replied
      if kind == RESET then
        ok, flags = pcall(redis.call, 'UNLINK', key)
        if ok then
          stored[key], flags = nil, 0
          -- A user without the permission for these keys has made no reservations. One by one, because a node with one of
          -- them does not execute a command for both while their slot moves.
          redis.pcall('UNLINK', '{' .. key .. '}:r')
          redis.pcall('UNLINK', '{' .. key .. '}:e')
        end
      elseif kind == REFUND then
        local state
        ok, state = pcall(logs and logs.open or read_state, key, now)
        flags = state
        if ok then ok, flags = pcall(refund, limit, a, b, key, state, now, cost, ARGV[arg] + 0) end
      elseif kind == BLOCK then
        ok, flags = pcall(add_block, key, logs, now, cost)
      elseif kind == RESERVE then
        local reserve = reservations()
        ok, flags, remaining, reset_after, wait =
          pcall(reserve, decide, logs, letter, limit, a, b, i, now, cost, mode, block_for, arg)
      elseif kind == SETTLE then
        local _, settle = reservations()
        ok, flags, remaining, reset_after, wait =
          pcall(settle, decide, refund, raise_level, logs, letter, limit, a, b, i, now, cost, arg)
      elseif kind == TAKE_UP_TO then
        local most, divisor = ARGV[arg] + 0, ARGV[arg + 1] + 0
        ok, flags = pcall(take_up_to, decide, logs, limit, a, b, i, now, cost, most, divisor, block_for, reply)
        is_replied = true
      elseif letter == 'n' then
        local acquire, release, renew = concurrency()
        local operation = kind == RELEASE and release or kind == RENEW and renew or acquire
        local id = kind ~= PEEK and ARGV[arg]
        ok, flags, remaining, reset_after, wait = pcall(operation, limit, a, key, now, mode, id)
      else
        -- All limits up to the last, or up to one that fails. It writes the reply itself.
        ok, flags = pcall(decide_limits, decide, logs, limit, a, b, i, last, now, cost, mode, block_for, reply)
        i, is_replied = deciding, true
      end

      if not ok then
        local problem = flags
        local number = problem == 'stale window' and -2 or -1
        for j = together and together.first or i, together and together.last or i do
          reply[3 * j - 1], reply[3 * j], reply[3 * j + 1] = number, 0, 0
        end
        if together then together.failed = true end
        if number == -1 then
          failures = failures + 1
          reply[1 + 3 * #keys + failures] = type(problem) == 'table' and problem.err or tostring(problem)
        end
      else
        if not is_replied then
          reply[3 * i - 1] = flags + 8 * (remaining or 0)
          reply[3 * i], reply[3 * i + 1] = reset_after or 0, wait or 0
        end
        if together and flags % 2 == 0 then together.allowed = false end
      end
      i = i + 1
    end

    first = last + 1
    if kind == REFUND or kind == SETTLE or letter == 'n' and kind ~= PEEK and kind ~= RESET then arg = arg + 1 end
    if kind == RESERVE then arg = arg + 3 end
    if kind == TAKE_UP_TO then arg = arg + 2 end
    if together and first > together.last then
      if together.mode == 'peek' and not together.failed then
        first, arg = together.first, together.arg
        together.mode = together.allowed and 'take' or 'repair'
      else
        together = nil
      end
    end
  end
end
return reply
