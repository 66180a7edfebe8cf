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
               then ARGUMENTS for each policy, the last policy first: limit, a, b (of a window its length and 0, of a
               bucket n and d) and, unless the script is for one algorithm, the letter of its own
Output: the time, then three whole numbers for each limit:
          allowed + 2 * remaining, reset_after, and delay if allowed or retry_after if not
          of a refund: the units given, in the level's own unit for buckets; 0; 0. Of a reset: 0, 0, 0
          of a limit that could not be decided: -1, 0, 0; the reasons follow at the end, as text

Redis runs all of a script every time, and for a check by itself each function, table and call that could be done
without is a good part of what it costs. So an algorithm is no function: script.ts puts its file where ALGORITHM
stands, and what it calls where FUNCTIONS stands. The locals around it are its inputs and outputs; besides those that
are replied:
  known    whether there was a state, of a check
  state    the new one; '' if nothing is left of it; nothing if it stays as it is
  changed  whether it was changed in place instead
  ttl      how long it means something, in microseconds
A text that is calculated with is a number to Lua: ARGV[1] + 0 is tonumber(ARGV[1]) without the call.
]]
local now = ARGV[1] + 0
-- Expiry is relative, in milliseconds: rounded to whole ones after adding this, it is never too early.
local slack_ms = 1
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
else
  slack_ms = 3600001
end

-- The first key of the entry that is being decided: of a check, or of a take of several limits. And where its run begins:
-- the first key of that, and its argument.
local entry, entry_run, entry_arg = 1, 1, 2

-- Decides everything from the entry at key `from` on, whose run begins at key `first` and argument `arg`; if that one has
-- `failed`, it is only said so. What is handed to it is not reached from within, which would be an allocation for each.
local function decide(now, slack_ms, reply, from, first, arg, failed)
  local COSTS, KINDS, POLICIES = 1073741824, 8, 1024
  local PEEK, TOGETHER, REFUND, LOOK, RESET = 1, 2, 3, 4, 5
  local floor, ceil, format = math.floor, math.ceil, string.format
  -- FUNCTIONS

  -- A take of several limits is passed through twice: 'peek' at all; then 'take' from all or, if one refuses, 'repair'.
  local pass, refused
  -- An expiry as text, and of which ttl: most of a call have the same.
  local px, px_ttl
  local keys = #KEYS
  while first <= keys do
    if not pass then entry_run, entry_arg = first, arg end
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
    if kind == TOGETHER and not pass and not failed then
      pass, refused, entry = 'peek', false, first
    elseif kind == REFUND then
      arg = arg + 1
      decided_at = ARGV[arg] + 0
    end
    local mode = pass or kind == PEEK and 'peek' or kind == LOOK and 'repair' or 'take'

    for i = first < from and from or first, last do
      local key = KEYS[i]
      local allowed, remaining, retry_after, reset_after, delay, given = false, 0, 0, 0, 0, nil
      local known, state, changed, ttl = false, nil, false, 0
      if not pass then entry = i end
      if failed then
        given = -1
        failed = kind == TOGETHER
      elseif kind == RESET then
        redis.call('UNLINK', key)
      else
        -- ALGORITHM
        if ttl ~= px_ttl then px, px_ttl = format('%.0f', ttl / 1000 + slack_ms), ttl end
        if state == '' then
          redis.call('DEL', key)
        elseif state then
          redis.call('SET', key, state, 'PX', px)
        elseif changed or known and not given and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
          redis.call('PEXPIRE', key, px)
        end
      end
      if not allowed then refused = true end
      reply[3 * i - 1] = given or 2 * remaining + (allowed and 1 or 0)
      reply[3 * i] = reset_after
      reply[3 * i + 1] = retry_after + delay
    end

    first, arg = last + 1, arg + 1
    if pass == 'peek' and kind ~= TOGETHER then
      pass, first, arg = refused and 'repair' or 'take', entry_run, entry_arg
    elseif kind ~= TOGETHER then
      pass = nil
    end
  end
end

-- With room for one limit: nearly every call has no more.
local reply, failures = { now, -1, 0, 0 }, 0
local ok, problem = pcall(decide, now, slack_ms, reply, entry, entry_run, entry_arg, false)
-- Each entry answers for itself: whatever goes wrong with it, the others are decided. With each key that can be twice.
for _ = 1, 2 * #KEYS do
  if ok then break end
  -- A state that turns out to be damaged is gone now, and counts as none: once more, without it.
  local failed = type(problem) ~= 'table' or not problem.damaged
  if failed then
    failures = failures + 1
    reply[1 + 3 * #KEYS + failures] = type(problem) == 'table' and problem.err or tostring(problem)
  end
  ok, problem = pcall(decide, now, slack_ms, reply, entry, entry_run, entry_arg, failed)
end
return reply
