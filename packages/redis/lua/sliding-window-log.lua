--[[
Sliding window log: twin of core's algorithms/sliding-window-log.ts. sliding_window_log(count_denied) returns:

  decide(limit, window, _, key, log, now, cost, mode)         allowed, room, retry_after, reset_after
  refund(limit, window, _, key, log, now, cost, decided_at)   the units given back
  logs                                                        the functions of lib/log.lua; logs.open reads the state

State: see lib/log.lua
]]
local function sliding_window_log(count_denied)
  local logs = log_functions()

  local function decide(limit, window, _, key, log, now, cost, mode)
    -- 1. Clock: if the clock stepped back by at most a window, decide as of the newest unit. If it stepped back
    --    further, the log was written under another clock, and is shifted so that its newest unit is now.
    local newest = log.newest
    local at = newest > now and newest - now <= window and newest or now
    local moved = newest > at
    if moved then
      log.moved, log.shift, log.oldest, log.newest = true, log.shift + now - newest, log.oldest + now - newest, now
    end

    -- 2. State now: the units of the last window.
    logs.drop_until(log, at - window)
    local used = log.total - log.base
    logs.assert_can_grow(log)

    -- 3. Decision. A charge can add more than the limit; the log keeps the newest 2 * limit units.
    local allowed = mode == 'charge' or cost <= limit - used
    local charged = mode ~= 'peek' and (allowed and mode ~= 'repair' or not allowed and count_denied)
    local units = 0
    if charged then
      units = cost > 2 * limit and 2 * limit or cost
      if used + units > 2 * limit then logs.keep_newest(log, 2 * limit - units) end
      used = log.total - log.base + units
    end

    -- The cost fits once the oldest excess units have left the window.
    local retry_after = 0
    if not allowed then
      local last_unit = log.total + units - (limit - cost)
      local run = logs.first_run(log, 1, last_unit)
      local time = run > log.runs and at or logs.number_at(log, 2 * run) + log.shift
      retry_after = time + window - now
    end
    if log.damaged or used < 0 or not allowed and retry_after <= 0 then
      write_state(key, 0, '')
      return decide(limit, window, nil, key, logs.open(key, now), now, cost, mode)
    end

    -- 4. New state.
    local empty_after = used > 0 and (charged and at or log.newest) + window - now or 0
    if charged or (moved and mode ~= 'peek') then
      logs.append_units(log, at, units, empty_after)
    elseif log.runs > 0 and mode ~= 'peek' and redis.call('PTTL', key) == -1 then
      write_state(key, empty_after)
    end

    -- 5. Waits.
    return allowed, limit - used, retry_after, empty_after
  end

  -- Gives units back until they expire from the log.
  local function refund(_, window, _, key, log, now, cost, decided_at)
    local newest = log.newest
    local at = newest > now and newest - now <= window and newest or now
    logs.drop_until(log, at - window)
    local run = logs.first_run(log, 0, decided_at - log.shift)
    local is_logged = run <= log.runs and logs.number_at(log, 2 * run) + log.shift == decided_at
    local units = is_logged and logs.number_at(log, 2 * run + 1) - logs.number_at(log, 2 * run - 1) or 0
    local used = log.total - log.base
    if log.damaged or units < 0 or used < units then
      write_state(key, 0, '')
      return 0
    end

    local units_back = math.min(cost, units)
    if units_back == 0 then return 0 end
    if units_back == used then
      write_state(key, 0, '')
    else
      -- If the last run is removed, the log is empty one window after the run before it.
      if units_back == units and run == log.runs then newest = logs.number_at(log, 2 * run - 2) + log.shift end
      logs.remove_units(log, run, units_back, math.max(0, newest + window - now))
    end
    return units_back
  end

  return decide, refund, logs
end
