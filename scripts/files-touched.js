// Counts the source files whose functions run for one request of a warm server on Node: `node scripts/files-touched.js [request]`.
// With a request's name it also lists those files and how often each of their functions ran.

import { mkdtempSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "#runtime";
import { assemble } from "../src/server/app.ts";
import { defaultConfig } from "../src/server/config.ts";
import { makeFirstToken } from "../src/server/first-token.ts";
import { createLog } from "../src/server/log.ts";

const source = new URL("../src/", import.meta.url).href;
const data = mkdtempSync(join(tmpdir(), "restante-"));
const app = await assemble({ ...defaultConfig, data, logLevel: "silent" }, createLog("silent"));
const token = await makeFirstToken(app.tokens);
const { fetch: answer, errorResponse } = app;
const server = await serve({
  ...{ host: "127.0.0.1", port: 0, maxHeaderBytes: 16_384 },
  ...{ fetch: answer, errorResponse },
});

/** Sends a request and waits for the whole response. */
async function send(method, path, body) {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
}

const requests = {
  PUT: () => send("PUT", "/people/a", { name: "Ada", age: 3 }),
  POST: () => send("POST", "/people", { name: "Ada", age: 3 }),
  GET: () => send("GET", "/people/a"),
  list: () => send("GET", "/people?limit=20"),
  filter: () => send("GET", "/members?age=3&limit=20"),
  PATCH: () => send("PATCH", "/people/a", { age: 3 }),
};

const properties = { name: { type: "string" }, age: { type: "integer" } };
await send("PUT", "/-/collections/members", { schema: { properties }, indexed: ["age"] });

for (let round = 0; round < 30; round++) {
  await send("POST", "/members", { name: "Ada", age: round % 5 });
  for (const request of Object.values(requests)) await request();
}
const session = new Session();
session.connect();
await session.post("Profiler.enable");
for (const [name, request] of Object.entries(requests)) {
  // Otherwise a cached page would be the answer.
  await requests.POST();
  await send("POST", "/members", { name: "Ada", age: 3 });
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  await request();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  await session.post("Profiler.stopPreciseCoverage");
  const files = result
    .filter(({ url }) => url.startsWith(source))
    .map(({ url, functions }) => ({ url, calls: callsOf(functions) }))
    .filter(({ calls }) => calls.length > 0);
  console.log(`${name}: ${files.length} files`);
  if (process.argv[2] === name)
    for (const { url, calls } of files)
      console.log(`  ${url.slice(source.length)}: ${calls.join(", ")}`);
}

/** The names and counts of the functions that ran. The one that begins at 0 is the module itself, which runs when it is loaded. */
function callsOf(functions) {
  return functions
    .filter(({ ranges: [{ startOffset, count }] }) => startOffset > 0 && count > 0)
    .map(({ functionName, ranges: [{ count }] }) => {
      const name = functionName || "(anonymous)";
      return count > 1 ? `${name} ×${count}` : name;
    });
}

await server.stop(100);
await app.close();
rmSync(data, { recursive: true });
process.exit(0);
