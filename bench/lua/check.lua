-- The load of wrk: checks of random keys.
-- Input:  the arguments after --: how many keys.
-- Output: one line, "figures" and: requests, microseconds, p50 and p99 of waits in microseconds, answers that
--         were not 2xx or 3xx, and connections that failed.

local requests = {}

function init(args)
  for i = 1, tonumber(args[1]) do
    requests[i] = wrk.format('GET', '/api/v1/rate-limit/check?key=user:' .. i)
  end
end

function request()
  return requests[math.random(#requests)]
end

function done(summary, latency)
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format('figures %d %d %d %d %d %d\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), errors.status, lost))
end
