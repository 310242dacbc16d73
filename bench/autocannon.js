// Loads with autocannon where there is no wrk. Arguments: the folder it is installed in, a job's file.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [home, file] = process.argv.slice(2);
const autocannon = createRequire(join(home, "package.json"))("autocannon");
const { origin, connections, seconds, timeoutSeconds, method, headers, body, paths, status } =
  JSON.parse(readFileSync(file, "utf8"));

const request = { method, headers, path: paths[0], ...(body === "" ? {} : { body }) };
const atRandom = (one) => ({ ...one, path: paths[Math.floor(Math.random() * paths.length)] });
const result = await autocannon({
  url: origin,
  connections,
  duration: seconds,
  timeout: timeoutSeconds,
  requests: [paths.length === 1 ? request : { ...request, setupRequest: atRandom }],
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
