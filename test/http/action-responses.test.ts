// An action that returns what is no JSON: a Response, of its own or of fetch, which are two classes on Node, and
// others. What it throws without the help of types.
// @runtimes both

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { fileURLToPath } from "node:url";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { Client } from "./client.ts";
import { assertProblem } from "./expect.ts";

const captured = captureLog();
let app: TestApp;
before(async () => {
  const actions = fileURLToPath(new URL("actions", import.meta.url));
  app = await startApp({ actions }, captured.log);
});
after(() => app.stop());

const types: Readonly<Record<string, string>> = {
  response: "Response",
  "fetched-response": "Response",
};
const others =
  "Headers URLSearchParams FormData Blob ReadableStream Map Set Uint8Array ArrayBuffer Error RegExp";

for (const how of [...Object.keys(types), ...others.split(" ")])
  it(`is 500 when an action returns what is no JSON, and the log says why: ${how}`, async () => {
    const answer = await new Client(app).post("/-/actions/answer", { how });
    const { requestId } = assertProblem(answer, "internal-error");
    const line = captured.lines().find((each) => each.requestId === requestId && "err" in each);
    const reason = new RegExp(`seeOther\\(\\), not a ${types[how] ?? how}\\b`);
    assert.match(JSON.stringify(line?.err), reason);
  });

it("describes the kind of a problem that is thrown without a detail", async () => {
  const client = new Client(app);
  const answer = await client.post("/-/actions/answer", { how: "any-problem" });
  assert.equal(
    assertProblem(answer, "conflict").detail,
    "The request conflicts with the current state",
  );
});

it("passes on the errors of a thrown problem that have the shape of errors, and no other", async () => {
  const client = new Client(app);
  const pointer = "/a";
  for (const [errors, shown] of [
    [[{ pointer, detail: "no", more: 1 }], [{ pointer, detail: "no" }]],
    [[{ parameter: "a", detail: "no" }], [{ parameter: "a", detail: "no" }]],
    [[], []],
    [null, undefined],
  ]) {
    const value = { detail: "x", errors };
    const answer = await client.post("/-/actions/answer", { how: "any-problem", value });
    assert.deepEqual(assertProblem(answer, "conflict").errors, shown);
  }
  const wrong = [
    "oops",
    { a: 1 },
    [1],
    [null],
    [{ detail: "x" }],
    [{ pointer }],
    [{ pointer, detail: 1 }],
  ];
  for (const errors of wrong) {
    const value = { detail: "x", errors };
    const answer = await client.post("/-/actions/answer", { how: "any-problem", value });
    assertProblem(answer, "internal-error");
  }
});
