-- Checks a request with Tidegate. An allowed request continues, with the rate limit headers in variables. A denied one
-- gets the response of Tidegate. txn.tidegate_status is the status of Tidegate, or 0 if Tidegate is unreachable.
local URL = "http://127.0.0.1:8080/api/v1/forward-auth"
local TOKEN = os.getenv("PROXY_TOKEN")
-- For each of four attempts: HAProxy retries three times if Tidegate is unreachable or too slow.
local TIMEOUT_MS = 1000

-- Headers of the client that are not sent to Tidegate: they are about its connection or its body, or set below.
local DROPPED = {
  ["connection"] = true, ["content-length"] = true, ["expect"] = true, ["forwarded"] = true, ["host"] = true,
  ["keep-alive"] = true, ["te"] = true, ["trailer"] = true, ["transfer-encoding"] = true, ["upgrade"] = true,
  ["x-real-ip"] = true,
}

local function is_dropped(name)
  return DROPPED[name] or name:find("^x%-forwarded%-") or name:find("^x%-original%-") or name:find("^x%-tidegate%-")
end

core.register_action("tidegate", { "http-req" }, function(txn)
  local headers = {}
  for name, lines in pairs(txn.http:req_get_headers()) do
    if not is_dropped(name) then
      headers[name] = {}
      for _, line in pairs(lines) do table.insert(headers[name], line) end
    end
  end
  headers["x-forwarded-method"] = { txn.f:method() }
  headers["x-forwarded-uri"] = { txn.f:pathq() }
  headers["x-forwarded-host"] = { txn.f:req_fhdr("host") or "" }
  headers["x-forwarded-for"] = { txn.f:src() }
  headers["x-tidegate-token"] = { TOKEN }

  local response = core.httpclient():get { url = URL, headers = headers, timeout = TIMEOUT_MS }
  -- HAProxy can generate a 503 or 504 itself. Every response of Tidegate has an X-Request-Id.
  local is_answered = response and response.headers and response.headers["x-request-id"]
  local status = is_answered and response.status or 0
  txn:set_var("txn.tidegate_status", status)
  if status == 0 then return end

  if status >= 200 and status < 300 then
    for name, lines in pairs(response.headers) do
      if name:find("ratelimit", 1, true) then txn:set_var("txn.tidegate_" .. name:gsub("-", "_"), lines[0]) end
    end
    return
  end

  local reply = txn:reply { status = status, body = response.body }
  for name, lines in pairs(response.headers) do
    if name:find("ratelimit", 1, true) or name == "retry-after" or name == "content-type" then
      reply:add_header(name, lines[0])
    end
  end
  txn:done(reply)
end)
