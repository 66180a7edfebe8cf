--[[
Sliding window log: twin of core's algorithms/sliding-window-log.ts. sliding_window_log() returns:

  decide(limit, window, _, key, now, cost, mode)         allowed, remaining, retry_after, reset_after
  refund(limit, window, _, key, now, cost, decided_at)   the units given back

State: see lib/log.lua
]]
local function sliding_window_log()
  local logs = log_functions()

  local function decide(limit, window, _, key, now, cost, mode)
    local log = logs.open(key)

    -- 1. Clock: if the clock stepped back by at most a window, decide as of the newest unit. If it stepped back
    --    further, the log was written under another clock and moves as a whole, so that its newest unit is now.
    local newest = log.newest
    local at = newest > now and newest - now <= window and newest or now
    local moved = newest > at
    if moved then
      log.moved, log.shift, log.oldest, log.newest = true, log.shift + now - newest, log.oldest + now - newest, now
    end

    -- 2. State now: the units of the last window.
    logs.drop_until(log, at - window)
    local used = log.total - log.base

    -- 3. Decision. The cost fits once the oldest units have left that are too many.
    local room = math.max(0, limit - used)
    local allowed = cost <= room
    local charged = allowed and mode == 'take'
    local retry_after = 0
    if not allowed then
      local run = logs.first_run(log, 1, log.total - (limit - cost))
      retry_after = logs.number_at(log, 2 * run) + log.shift + window - now
    end
    if log.damaged or used < 0 or not allowed and retry_after <= 0 then
      redis.call('DEL', key)
      return decide(limit, window, nil, key, now, cost, mode)
    end

    -- 4. New state.
    local in_use = charged or used > 0
    local empty_after = in_use and (charged and at or log.newest) + window - now or 0
    if charged or (moved and mode ~= 'peek') then
      logs.append_units(log, at, charged and cost or 0, empty_after)
    elseif log.runs > 0 and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
      write_state(key, empty_after)
    end

    -- 5. Waits.
    return allowed, charged and room - cost or room, retry_after, empty_after
  end

  -- Gives units back while they are logged.
  local function refund(_, window, _, key, now, cost, decided_at)
    local log = logs.open(key)
    local newest = log.newest
    local at = newest > now and newest - now <= window and newest or now
    logs.drop_until(log, at - window)
    local run = logs.first_run(log, 0, decided_at - log.shift)
    local is_logged = run <= log.runs and logs.number_at(log, 2 * run) + log.shift == decided_at
    local units = is_logged and logs.number_at(log, 2 * run + 1) - logs.number_at(log, 2 * run - 1) or 0
    local used = log.total - log.base
    if log.damaged or units < 0 or used < units then
      redis.call('DEL', key)
      return 0
    end

    local given = math.min(cost, units)
    if given == 0 then return 0 end
    if given == used then
      redis.call('DEL', key)
    else
      -- Without its last run, the log is empty one window after the run before it.
      if given == units and run == log.runs then newest = logs.number_at(log, 2 * run - 2) + log.shift end
      logs.remove_units(log, run, given, math.max(0, newest + window - now))
    end
    return given
  end

  return decide, refund
end
