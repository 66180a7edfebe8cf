--[[
One call decides many checks, in order, each seeing the ones before it; or gives units back.

Input:  KEYS   one for each limit
        ARGV   [1] the time in microseconds, or 0 for the server's own (only tests pass one)
               then one for each run of limits that are asked the same:
               cost + 2^30 * (kind + 8 * (index of the policy + 1024 * (limits in the run - 1))), where kind is
                 0  take
                 1  peek
                 2  take, together with the limit that follows: all or nothing. A run ends where such an entry does
                 3  refund, a run by itself; the time of the decision follows as an argument of its own
                 4  look: a peek that repairs what a refused take repairs
                 5  reset; its cost means nothing
               then ARGUMENTS for each policy, the last policy first: limit, a, b, and the letter of its algorithm;
               a script for one algorithm has no letter, and a window no b
Output: the time, then three whole numbers for each limit:
          allowed + 2 * remaining, reset_after, and delay if allowed or retry_after if not
          of a refund: the units given, in the level's own unit for buckets; 0; 0. Of a reset: 0, 0, 0
          of a limit that could not be decided: -1, 0, 0; the reasons follow at the end, as text

Redis runs all of a script every time, and for a check by itself every function, table and call that is not needed is a
good part of what it costs. So an algorithm is no function: script.ts puts the files of FUNCTIONS and ALGORITHM where
these words stand, and the locals around them are their inputs and outputs.
]]
local now = ARGV[1] + 0
-- Expiry is relative, in milliseconds: cut to whole ones after adding this, it is never too early.
local slack_ms = 1
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
else
  slack_ms = 3600001
end

-- The first key of the entry that is being decided: a check, or all limits of a take.
local entry

-- Decides everything from an entry on; that one cannot be decided if it has failed.
local function decide(now, slack_ms, reply, from, failed)
  local COSTS, KINDS, POLICIES = 1073741824, 8, 1024
  local PEEK, TOGETHER, REFUND, LOOK, RESET = 1, 2, 3, 4, 5
  local floor, ceil, format = math.floor, math.ceil, string.format
  -- FUNCTIONS

  -- Several limits are passed over twice: 'peek' at all, then 'take' from all or, where one refuses, 'repair' all.
  local pass, refused, entry_arg
  local arg, first, keys = 2, 1, #KEYS
  while first <= keys do
    local code = ARGV[arg] + 0
    local cost = code % COSTS
    code = (code - cost) / COSTS
    local kind = code % KINDS
    code = (code - kind) / KINDS
    local index = code % POLICIES
    local last = first + (code - index) / POLICIES
    local policy = #ARGV - ARGUMENTS * (index + 1)
    local limit, a, b = ARGV[policy + 1] + 0, ARGV[policy + 2] + 0, ARGV[policy + 3] + 0

    local decided_at
    if kind == TOGETHER and not pass and first >= from and not failed then
      pass, refused, entry, entry_arg = 'peek', false, first, arg
    elseif kind == REFUND then
      arg = arg + 1
      decided_at = ARGV[arg] + 0
    end
    local mode = pass or kind == PEEK and 'peek' or kind == LOOK and 'repair' or 'take'

    for i = first < from and from or first, last do
      local key = KEYS[i]
      local allowed, remaining, retry_after, reset_after, delay, given = false, 0, 0, 0, 0, nil
      if not pass then entry = i end
      if failed then
        given = -1
        failed = kind == TOGETHER
      elseif kind == RESET then
        redis.call('UNLINK', key)
      else
        -- ALGORITHM
      end
      if not allowed then refused = true end
      reply[3 * i - 1] = given or 2 * remaining + (allowed and 1 or 0)
      reply[3 * i] = reset_after
      reply[3 * i + 1] = retry_after + delay
    end

    first, arg = last + 1, arg + 1
    if pass == 'peek' and kind ~= TOGETHER then
      pass, first, arg = refused and 'repair' or 'take', entry, entry_arg
    elseif kind ~= TOGETHER then
      pass = nil
    end
  end
end

local reply, failures = { now, 0, 0, 0 }, 0
local ok, problem = pcall(decide, now, slack_ms, reply, 1, false)
-- Each entry answers for itself: whatever goes wrong with it, the others are decided. It can go wrong twice.
for _ = 1, 2 * #KEYS do
  if ok then break end
  -- A state that turns out to be damaged is gone now, and counts as none: once more, without it.
  local failed = type(problem) ~= 'table' or not problem.damaged
  if failed then
    failures = failures + 1
    reply[1 + 3 * #KEYS + failures] = type(problem) == 'table' and problem.err or tostring(problem)
  end
  ok, problem = pcall(decide, now, slack_ms, reply, entry, failed)
end
return reply
