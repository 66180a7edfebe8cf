--[[
One call decides many checks, in order, each seeing the ones before it; or gives units back.

Input:  KEYS   one for each limit
        ARGV   [1] the time in microseconds, or 0 for the server's own (only tests pass one)
               [2] how many policies there are, then four for each: its letter, limit, a, b
               then one for each run of limits that are asked the same:
               cost + 2^30 * (kind + 8 * (index of the policy + 1024 * (limits in the run - 1))), where kind is
                 0  take
                 1  peek
                 2  take, together with the limit that follows: all or nothing
                 3  refund, a run by itself; the time of the decision follows as an argument of its own
                 4  look: a peek that repairs what a refused take repairs
                 5  reset; its cost means nothing
Output: the time, then three whole numbers for each limit:
          allowed + 2 * remaining, reset_after, and delay if allowed or retry_after if not
          of a refund: the units given, in the level's own unit for buckets; 0; 0. Of a reset: 0, 0, 0
          of a limit that could not be decided: -1, 0, 0; the reasons follow at the end, as text
]]
local COSTS, KINDS, POLICIES = 1073741824, 8, 1024
local TAKE, PEEK, TOGETHER, REFUND, LOOK, RESET = 0, 1, 2, 3, 4, 5

local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
else
  SLACK_MS = 3600000
end

local policies = {}
local next_arg = 3
for i = 0, tonumber(ARGV[2]) - 1 do
  local algorithm, limit = ALGORITHMS[ARGV[next_arg]], tonumber(ARGV[next_arg + 1])
  local a, b = tonumber(ARGV[next_arg + 2]), tonumber(ARGV[next_arg + 3])
  local policy = { decide = algorithm.decide, refund = algorithm.refund, limit = limit, a = a, b = b }
  if b > 0 then
    policy.full = limit * b
    policy.span = math.floor(policy.full / a)
  end
  policies[i] = policy
  next_arg = next_arg + 4
end

-- Any entry, as three numbers for each of its limits: they are decided all, then charged all or none. It answers for
-- itself: whatever goes wrong with it, the others are decided. What goes wrong is the second result.
local function answer_entry(entry, kind, mode, now)
  local function decide(limit, mode)
    return limit.policy.decide(limit.policy, limit.key, now, limit.cost, mode)
  end

  local function attempt()
    local limit = entry[1]
    if kind == REFUND then
      return { limit.policy.refund(limit.policy, limit.key, now, limit.decided_at, limit.cost), 0, 0 }
    elseif kind == RESET then
      redis.call('UNLINK', limit.key)
      return { 0, 0, 0 }
    end
    local mode = mode
    if #entry > 1 then
      for _, one in ipairs(entry) do
        if not decide(one, 'peek') then mode = 'repair' end
      end
    end
    local numbers = {}
    for _, one in ipairs(entry) do
      local allowed, remaining, retry_after, reset_after, delay = decide(one, mode)
      numbers[#numbers + 1] = remaining * 2 + (allowed and 1 or 0)
      numbers[#numbers + 1] = reset_after
      numbers[#numbers + 1] = allowed and delay or retry_after
    end
    return numbers
  end

  local ok, result
  for _ = 0, #entry do
    ok, result = pcall(attempt)
    if ok then return result end
    -- A state that turns out to be damaged counts as none: once more, without it.
    if type(result) ~= 'table' or not result.damaged then break end
    redis.call('DEL', result.damaged)
  end
  local numbers = {}
  for i = 1, 3 * #entry do numbers[i] = i % 3 == 1 and -1 or 0 end
  return numbers, type(result) == 'table' and result.err or tostring(result)
end

local reply = { now }
local answered = 1
local entry, reasons
local first = 1
while first <= #KEYS do
  local code = tonumber(ARGV[next_arg])
  next_arg = next_arg + 1
  local high = math.floor(code / COSTS)
  local cost, kind = code - high * COSTS, high % KINDS
  high = math.floor(high / KINDS)
  local policy, last = policies[high % POLICIES], first + math.floor(high / POLICIES)
  local mode = kind == PEEK and 'peek' or kind == LOOK and 'repair' or 'take'
  local decided_at
  if kind == REFUND then
    decided_at = tonumber(ARGV[next_arg])
    next_arg = next_arg + 1
  end
  for i = first, last do
    local key = KEYS[i]
    local ok, allowed, remaining, retry_after, reset_after, delay
    -- Nearly every entry is one limit that can be decided at once.
    if (kind == TAKE or kind == PEEK or kind == LOOK) and not entry then
      ok, allowed, remaining, retry_after, reset_after, delay = pcall(policy.decide, policy, key, now, cost, mode)
    end
    if ok then
      reply[answered + 1] = remaining * 2 + (allowed and 1 or 0)
      reply[answered + 2] = reset_after
      reply[answered + 3] = allowed and delay or retry_after
      answered = answered + 3
    else
      entry = entry or {}
      entry[#entry + 1] = { policy = policy, key = key, cost = cost, decided_at = decided_at }
      if kind ~= TOGETHER then
        local numbers, reason = answer_entry(entry, kind, mode, now)
        for _, number in ipairs(numbers) do
          answered = answered + 1
          reply[answered] = number
        end
        if reason then
          reasons = reasons or {}
          reasons[#reasons + 1] = reason
        end
        entry = nil
      end
    end
  end
  first = last + 1
end
for i, reason in ipairs(reasons or {}) do reply[answered + i] = reason end
return reply
