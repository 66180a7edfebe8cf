--[[
One call decides many entries in order; each entry sees the changes of the entries before it. An entry is a check, a
peek, a take of several limits, or one of the operations below. src/script/protocol.ts writes the input and reads the
output.

Input:  KEYS   one for each limit. If there are none, the keys are the last arguments, followed by their number
        ARGV   [1] the time in microseconds, or 0 for the time of the server; only tests pass a time
               [2] the number of policies, then four arguments for each: limit, a, b, and the letter of its algorithm.
                   For a window, a is its length in microseconds. For a bucket, a and b are n and d. For a concurrency
                   policy, a is its ttl in microseconds. A policy with options has them after its letter, separated by
                   spaces: block_for in microseconds, 0 for none; count_denied, 1 or 0; and the windows of a fixed
                   window: see fixed-window.lua.
               then one argument for each run of limits with the same kind, cost and policy:
                 cost + 2^29 * (kind + 16 * (index of the policy + 1024 * (number of limits - 1))). A cost of 2^29 or
                 more, or of 0 or less, is left out and follows as a separate argument. The kind is
                    0  take: charge the cost if it fits. For a concurrency policy, the id of the slot follows.
                    1  peek: change nothing
                    2  joint take of several limits, all or none; the cost is 1. A run of kind 0 or 8 follows for each.
                    3  refund. The time of the decision follows.
                    4  repair: like peek, but move a state from another clock, and charge a denied cost if the policy
                       counts denied requests. For a concurrency policy, the id of the slot follows.
                    5  reset
                    6  charge the cost whether or not it fits
                    7  block. The cost is the duration in microseconds.
                    8  reserve. The id, the ttl in microseconds and the maximum of open reservations follow.
                    9  settle. The cost is the actual one; the id follows.
                   10  release a slot. The id follows.
                   11  renew a slot. The id follows.
                   12  take up to: the cost is the minimum of units. The maximum and the divisor follow.
                 A run with arguments that follow has one limit.
Output: the time, then three whole numbers for each limit, as text if they are 2^52 or more:
          decided    flags + 8 * remaining; reset_after; delay if allowed, retry_after if denied, and for a charge the
                     units over the limit. Flags: 1 allowed, 2 blocked, 4: see reservations.lua
          refunded   the units given back, for buckets times d; 0; 0
          settled    see reservations.lua
          taken      like decided. If allowed, the third is a text of two numbers: the units, and the time until their
                     window ends, 0 for an algorithm without windows.
          reset, block   0; 0; 0
          failed     -1; 0; 0
          stale      -2; 0; 0: not executed, because none of the given calendar windows contains the time
        then one message for each entry that failed. An entry that fails does not affect the others.

An entry reads all its keys before it changes a count, and deletes a key that it writes again only if its slot is
stable. So an entry that fails because a key is on another node, or is moving there, has not been executed, and can be
sent again.

Redis creates every function of a script on each call, which takes longer than the decision of a single check. So an
algorithm is one function that creates its functions only when it is called, and this file has no functions.
`ARGV[1] + 0` converts text to a number, and is faster than tonumber.
]]
local PEEK, JOINT, REFUND, REPAIR, RESET, CHARGE, BLOCK = 1, 2, 3, 4, 5, 6, 7
local RESERVE, SETTLE, RELEASE, RENEW, TAKE_UP_TO = 8, 9, 10, 11, 12

local now = ARGV[1] + 0
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local reply, failures = { now, 0, 0, 0 }, 0
-- The current joint take: peek at all limits first, then take from all, or repair all if one denied.
local joint
-- The first key of the run, and the index of its argument.
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

  if kind == JOINT then
    joint = { first = first, last = last, arg = arg, mode = 'peek', allowed = true }
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
    local mode = joint and joint.mode or kind == PEEK and 'peek' or kind == REPAIR and 'repair'
      or kind == CHARGE and 'charge' or 'take'

    local i = first
    while i <= last and not (joint and joint.failed) do
      local key = keys[i]
      local ok, flags, remaining, reset_after, wait, is_replied
      if kind == RESET then
        ok, flags = pcall(redis.call, 'UNLINK', key)
        if ok then
          stored[key], flags = nil, 0
          -- A user without the permission for these keys has made no reservations. One by one, because a node with one
          -- of them does not execute a command for both while their slot moves.
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
        -- Decides all limits up to the last, or up to one that fails, and writes the reply.
        ok, flags = pcall(decide_limits, decide, logs, limit, a, b, i, last, now, cost, mode, block_for, reply)
        i, is_replied = deciding, true
      end

      if not ok then
        local problem = flags
        local number = problem == 'stale window' and -2 or -1
        for j = joint and joint.first or i, joint and joint.last or i do
          reply[3 * j - 1], reply[3 * j], reply[3 * j + 1] = number, 0, 0
        end
        if joint then joint.failed = true end
        if number == -1 then
          failures = failures + 1
          reply[1 + 3 * #keys + failures] = type(problem) == 'table' and problem.err or tostring(problem)
        end
      else
        if not is_replied then
          reply[3 * i - 1] = flags + 8 * (remaining or 0)
          reply[3 * i], reply[3 * i + 1] = reset_after or 0, wait or 0
        end
        if joint and flags % 2 == 0 then joint.allowed = false end
      end
      i = i + 1
    end

    first = last + 1
    if kind == REFUND or kind == SETTLE or letter == 'n' and kind ~= PEEK and kind ~= RESET then arg = arg + 1 end
    if kind == RESERVE then arg = arg + 3 end
    if kind == TAKE_UP_TO then arg = arg + 2 end
    if joint and first > joint.last then
      if joint.mode == 'peek' and not joint.failed then
        first, arg = joint.first, joint.arg
        joint.mode = joint.allowed and 'take' or 'repair'
      else
        joint = nil
      end
    end
  end
end
return reply
