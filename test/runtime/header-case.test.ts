// The names of response header fields are written alike, whoever sets them.
// @runtimes both

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "../http/app.ts";
import { send } from "./raw-connection.ts";

let app: TestApp;
before(async () => {
  app = await startApp({ rateLimitPerToken: 1000 });
});
after(() => app.stop());

/** Fields that the runtime writes by itself. */
const ofRuntime = new Set("content-length connection keep-alive date transfer-encoding".split(" "));

async function fieldNames(request: string, body = ""): Promise<readonly string[]> {
  const head = [
    `${request} HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    `Authorization: Bearer ${app.admin}`,
    ...(body === "" ? [] : ["Content-Type: application/json", `Content-Length: ${body.length}`]),
    ...(body === "" ? [] : ['Idempotency-Key: "one"', "Prefer: return=minimal"]),
  ];
  const { responses } = await send(app.port, `${head.join("\r\n")}\r\n\r\n${body}`);
  const names = responses.flatMap(({ fields }) => fields.map(([name]) => name));
  return names.filter((name) => !ofRuntime.has(name.toLowerCase()));
}

describe("the header fields of a response", () => {
  it("have capitalized names", async () => {
    const requests = [
      ["POST /things", "{}"],
      ["POST /things", "{}"],
      ["POST /things", "{"],
      ["GET /things"],
      ["GET /nothing"],
      ["OPTIONS /things"],
      ["TRACE /things"],
      ["PATCH /things"],
    ] as const;
    const seen = new Set<string>();
    for (const [request, body] of requests)
      for (const name of await fieldNames(request, body)) {
        assert.match(name, /^[A-Z]/, request);
        seen.add(name.toLowerCase());
      }
    const own = "x-request-id idempotency-replayed x-total-count preference-applied ratelimit";
    for (const name of own.split(" ")) assert.ok(seen.has(name), name);
  });
});
