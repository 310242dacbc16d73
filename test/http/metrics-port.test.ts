// The port of the metrics: what it serves, whatever the host is called.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { metricsResponder } from "../../src/server/metrics-server.ts";
import { send } from "../runtime/raw-connection.ts";
import { start, type TestServer } from "../runtime/test-server.ts";

describe("the port of the metrics", () => {
  let server: TestServer;
  before(async () => {
    const { fetch, errorResponse } = metricsResponder(async () => []);
    server = await start(fetch, { errorResponse });
  });
  after(() => server.stop(0));

  const ask = async (line: string, host = "localhost") => {
    const { responses } = await send(server.port, `${line} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    return responses[0] ?? assert.fail(`no response to ${line}`);
  };

  for (const target of ["/metrics", "/-/metrics", "/metrics?a=/b", "http://other/metrics"])
    it(`serves ${target}`, async () => assert.equal((await ask(`GET ${target}`)).status, 200));

  for (const host of ["999.1.1.1", "xn--a", "a%zz", "[::1]:9", "localhost:9"])
    it(`serves the host ${host}`, async () => {
      assert.equal((await ask("GET /metrics", host)).status, 200);
      assert.equal((await ask("OPTIONS *", host)).status, 404);
    });

  it("serves nothing else", async () => {
    for (const path of ["/", "/people", "//metrics", "/metrics/", "/?/metrics"])
      assert.equal((await ask(`GET ${path}`)).status, 404, path);
    const { status, headers } = await ask("POST /metrics");
    assert.deepEqual([status, headers.allow], [405, "GET, HEAD"]);
  });
});
