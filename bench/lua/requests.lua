-- wrk script: requests with random keys.
-- Input:  the arguments after --: "check" and the number of keys, for the service;
--         or "proxy", method, bytes per body and number of users, for proxies.
-- Output: one line, "figures" and: requests, microseconds, latency p50 and p99 in microseconds, responses that
--         were not 2xx or 3xx, and connection errors.

local requests = {}

local function check(keys)
  for i = 1, tonumber(keys) do
    requests[i] = wrk.format('GET', '/api/v1/rate-limit/check?key=user:' .. i)
  end
end

local function proxy(method, bytes, users)
  local body = tonumber(bytes) > 0 and string.rep('x', tonumber(bytes)) or nil
  for i = 1, tonumber(users) do
    local headers = {
      ['X-User-Id'] = tostring(i), ['User-Agent'] = 'bench/1.0', ['Accept'] = 'application/json',
      ['Accept-Encoding'] = 'gzip, deflate, br', ['Cookie'] = 'session=0123456789abcdef',
    }
    if body then headers['Content-Type'] = 'application/octet-stream' end
    requests[i] = wrk.format(method, '/api/items/' .. i .. '?page=2', headers, body)
  end
end

function init(args)
  if args[1] == 'check' then check(args[2]) else proxy(args[2], args[3], args[4]) end
end

function request()
  return requests[math.random(#requests)]
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format('figures %d %d %d %d %d %d\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), errors.status, failed))
end
