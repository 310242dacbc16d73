// Preconditions that cannot hold: nothing succeeds with them, also where the target has no ETag (RFC 9110 §13.1).

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { requestEverything } from "./every-response.ts";
import { assertProblem } from "./expect.ts";

let app: TestApp;
let admin: Client;
before(async () => {
  app = await startApp();
  admin = new Client(app);
});
after(() => app.stop());

const tag = '"of-nothing"';
const token = { name: "n", scopes: ["*:read"] };
const operations = [{ method: "POST", path: "/people", body: {} }];

describe("a request with a tag in If-Match that nothing has", () => {
  it("never succeeds", async () => {
    const without = await requestEverything(app);
    const succeeded = (await requestEverything(app, { "if-match": tag }))
      .filter(({ status }) => status < 300)
      // The end of an upload checks what its beginning depends on.
      .filter(({ headers }) => !headers.get("location")?.includes("/-/uploads/"))
      .map(({ asked }) => asked.split(" ")[0]);
    // OPTIONS has no representation, and QUERY shows another one each time.
    assert.deepEqual([...new Set(succeeded)].sort(), ["OPTIONS", "QUERY"]);
    assert.ok(without.filter(({ status }) => status < 300).length > succeeded.length + 40);
  });

  it("changes nothing", async () => {
    const { id } = JSON.parse((await admin.post("/-/tokens", token)).body);
    const tokens = (await admin.get("/-/tokens")).body;
    const send = { "if-match": tag };
    assertProblem(await admin.post("/-/tokens", token, send), "precondition-failed");
    assertProblem(await admin.remove(`/-/tokens/${id}`, send), "precondition-failed");
    assert.equal((await admin.get("/-/tokens")).body, tokens);
    await admin.rejects("people", "precondition-failed", () => admin.batch(operations, send));
  });

  it("is 400 when it is not a tag", async () => {
    for (const path of ["/-/tokens", "/-/health", "/-/openapi.json"])
      assertProblem(await admin.get(path, { "if-match": "x" }), "malformed-request");
    assertProblem(await admin.batch(operations, { "if-match": "x" }), "malformed-request");
  });

  it("is ignored where the request fails without it", async () => {
    assertProblem(await admin.remove("/-/tokens/none", { "if-match": tag }), "not-found");
    assertProblem(await admin.get("/-/tokens/none", { "if-match": tag }), "not-found");
    assertProblem(
      await admin.post("/-/tokens", "{", { "if-match": tag, "content-type": "text/csv" }),
      "unsupported-media-type",
    );
  });
});

describe("* as a precondition where there is no ETag", () => {
  it("is whether there is something to show", async () => {
    const { id } = JSON.parse((await admin.post("/-/tokens", token)).body);
    const none = { "if-none-match": "*" };
    const any = { "if-match": "*" };
    assertProblem(await admin.remove(`/-/tokens/${id}`, none), "precondition-failed");
    assert.equal((await admin.get("/-/tokens", any)).status, 200);
    assert.equal((await admin.remove(`/-/tokens/${id}`, any)).status, 204);
    assertProblem(await admin.batch(operations, any), "precondition-failed");
    assert.equal((await admin.batch(operations, none)).status, 200);
  });
});
