// Loads with autocannon where there is no wrk. Arguments: the folder it is installed in, the job as JSON.

import { createRequire } from "node:module";
import { join } from "node:path";

const [home, text] = process.argv.slice(2);
const autocannon = createRequire(join(home, "package.json"))("autocannon");
const { origin, connections, seconds, timeoutSeconds, method, headers, body, paths, status } =
  JSON.parse(text);

const requests = paths.map((path) => ({ method, path, headers, ...(body ? { body } : {}) }));
const result = await autocannon({
  url: origin,
  connections,
  duration: seconds,
  timeout: timeoutSeconds,
  requests,
});

const completed = result.requests.total;
const asExpected = result.statusCodeStats[status]?.count ?? 0;
console.log(
  JSON.stringify({
    completed,
    seconds: result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    wrongStatus: completed - asExpected,
    brokenConnections: result.errors - result.timeouts,
    timeouts: result.timeouts,
  }),
);
