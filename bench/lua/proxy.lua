-- The load of wrk on a proxy: requests of random users.
-- Input:  the arguments after --: the method, how many bytes each body has, how many users.
-- Output: one line, "figures" and: requests, microseconds, p50 and p99 of waits in microseconds, answers that
--         were not 2xx or 3xx, and connections that failed.

local requests = {}

function init(args)
  local method, bytes, users = args[1], tonumber(args[2]), tonumber(args[3])
  local body = bytes > 0 and string.rep('x', bytes) or nil
  for i = 1, users do
    local headers = {
      ['X-User-Id'] = tostring(i), ['User-Agent'] = 'bench/1.0', ['Accept'] = 'application/json',
      ['Accept-Encoding'] = 'gzip, deflate, br', ['Cookie'] = 'session=0123456789abcdef',
    }
    if body then headers['Content-Type'] = 'application/octet-stream' end
    requests[i] = wrk.format(method, '/api/items/' .. i .. '?page=2', headers, body)
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
