-- What wrk sends and what it says afterwards. Arguments: method, body, a file with a path per line.

function init(arguments)
  wrk.method = arguments[1]
  if arguments[2] ~= "" then wrk.body = arguments[2] end

  local prepared = {}
  for path in io.lines(arguments[3]) do prepared[#prepared + 1] = wrk.format(nil, path) end

  -- With a single path wrk repeats one buffer, which spares the loader a call for each request.
  if #prepared == 1 then
    wrk.path = io.lines(arguments[3])()
  else
    math.randomseed(os.time())
    function request() return prepared[math.random(#prepared)] end
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"completed":%d,"seconds":%f,"p50Ms":%f,"p99Ms":%f,"wrongStatus":%d,"brokenConnections":%d,"timeouts":%d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    errors.status, errors.connect + errors.read + errors.write, errors.timeout))
end
