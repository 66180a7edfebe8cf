--[[
One call decides many checks, in order, each seeing the ones before it; or gives units back.

Input:  KEYS   one for each limit
        ARGV   [1] the time in microseconds, or 0 for the server's own (only tests pass one)
               [2] how many policies there are, then four for each: its letter, limit, a, b
               then one for each limit: cost + 2^30 * (kind + 8 * index of its policy), where kind is
                 0  take
                 1  peek
                 2  take, together with the limit that follows: all or nothing
                 3  refund; the time of the decision follows as an argument of its own
                 4  look: a peek that repairs what a refused take repairs
                 5  reset; its cost means nothing
Output: the time, then three whole numbers for each limit:
          allowed + 2 * remaining, reset_after, and delay if allowed or retry_after if not
          of a refund: the units given, in the level's own unit for buckets; 0; 0. Of a reset: 0, 0, 0
          of a limit that could not be decided: -1, 0, 0; the reasons follow at the end, as text
]]
local ALGORITHMS = {
  f = fixed_window,
  l = sliding_window_log,
  c = sliding_window_counter,
  t = token_bucket,
  k = leaky_bucket,
}
local COSTS = 1073741824
local MODES = { [0] = 'take', [1] = 'peek', [2] = 'take', [4] = 'repair' }

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
  local letter, limit = ARGV[next_arg], tonumber(ARGV[next_arg + 1])
  local a, b = tonumber(ARGV[next_arg + 2]), tonumber(ARGV[next_arg + 3])
  local policy = { algorithm = ALGORITHMS[letter], limit = limit, a = a, b = b }
  if b > 0 then
    policy.full = limit * b
    policy.span = math.floor(policy.full / a)
  end
  policies[i] = policy
  next_arg = next_arg + 4
end

local reply = { now }
local reasons = {}

local function answer(allowed, remaining, retry_after, reset_after, delay)
  local n = #reply
  reply[n + 1] = remaining * 2 + (allowed and 1 or 0)
  reply[n + 2] = reset_after
  reply[n + 3] = allowed and delay or retry_after
end

-- Limits `first` to `last` are one entry: decided all, then charged all or none.
local function decide_entry(limits)
  if #limits == 1 then
    local limit = limits[1]
    answer(limit.policy.algorithm.decide(limit.policy, limit.key, now, limit.cost, limit.mode))
    return
  end
  local all = true
  for _, limit in ipairs(limits) do
    all = limit.policy.algorithm.decide(limit.policy, limit.key, now, limit.cost, 'peek') and all
  end
  for _, limit in ipairs(limits) do
    answer(limit.policy.algorithm.decide(limit.policy, limit.key, now, limit.cost, all and 'take' or 'repair'))
  end
end

local function reset(limit)
  redis.call('UNLINK', limit.key)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = 0, 0, 0
end

local function refund(limit, decided_at)
  local n = #reply
  reply[n + 1] = limit.policy.algorithm.refund(limit.policy, limit.key, now, decided_at, limit.cost)
  reply[n + 2] = 0
  reply[n + 3] = 0
end

local entry = {}
for i, key in ipairs(KEYS) do
  local code = tonumber(ARGV[next_arg])
  next_arg = next_arg + 1
  local high = math.floor(code / COSTS)
  local kind = high % 8
  entry[#entry + 1] = {
    policy = policies[math.floor(high / 8)],
    key = key,
    cost = code - high * COSTS,
    mode = MODES[kind],
  }
  if kind ~= 2 then
    local answered = #reply
    local decided_at
    if kind == 3 then
      decided_at = tonumber(ARGV[next_arg])
      next_arg = next_arg + 1
    end
    local ok, reason
    for _ = 0, #entry do
      if kind == 3 then
        ok, reason = pcall(refund, entry[1], decided_at)
      elseif kind == 5 then
        ok, reason = pcall(reset, entry[1])
      else
        ok, reason = pcall(decide_entry, entry)
      end
      if ok then break end
      for j = #reply, answered + 1, -1 do reply[j] = nil end
      -- A state that turns out to be damaged counts as none: once more, without it.
      if type(reason) ~= 'table' or not reason.damaged then break end
      redis.call('DEL', reason.damaged)
    end
    if not ok then
      for _ = 1, #entry do
        local n = #reply
        reply[n + 1], reply[n + 2], reply[n + 3] = -1, 0, 0
      end
      reasons[#reasons + 1] = type(reason) == 'table' and reason.err or tostring(reason)
    end
    entry = {}
  end
end
for _, reason in ipairs(reasons) do reply[#reply + 1] = reason end
return reply
