// An action that returns what is no JSON: a Response, of its own or of fetch, which are two classes on Node, and
// others. What it throws without the help of types.
// @runtimes both

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "../fast-check.ts";
import { send } from "../runtime/raw-connection.ts";
import { runs } from "../seeds.ts";
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

it("is 500 for a location that accepted() and seeOther() would not give", async () => {
  const client = new Client(app);
  const location = "/things/1";
  for (const status of [100, 101, 200, 204, 301, 302, 307, 404, "303", null, 1e9, undefined])
    for (const value of [
      { status, location },
      { status: 303, location: [location] },
    ]) {
      const answer = await client.post("/-/actions/answer", { how: "forged-location", value });
      assertProblem(answer, "internal-error");
    }
  for (const status of [202, 303]) {
    const value = { status, location };
    const answer = await client.post("/-/actions/answer", { how: "forged-location", value });
    assert.deepEqual([answer.status, answer.headers.get("location")], [status, location]);
  }
});

const piece = fc.constantFrom(
  ...["/", "//", "\\", ".", "..", "%2e", "%2E%2e", "%2f", "%5c", "\t", "\n", "\r", " ", "\0"],
  ...["evil.example", "@", ":", "?", "#", "a", "http:", "\u2044", "\uff0e", "\uff0f"],
);
const pieces = fc.array(piece, { maxLength: 10 }).map((all) => all.join(""));

/** Not compared with the OpenAPI document: a URL may have characters that no URI has. */
async function locationOf(how: string, location: string): Promise<string | null> {
  const response = await fetch(`${app.url}/-/actions/answer`, {
    method: "POST",
    redirect: "manual",
    headers: { authorization: `Bearer ${app.admin}`, "content-type": "application/json" },
    body: JSON.stringify({ how, location }),
  });
  assert.ok([202, 303, 500].includes(response.status), `${response.status}`);
  await response.arrayBuffer();
  return response.headers.get("location");
}

it("has a location of this server for whatever the action puts behind a path", async () => {
  const known = ["../..//", "..//..//", ".././/../../", "..\\..\\\\", "%2e%2e/..//", "x/../..///"];
  const examples = ["", ...known].map((start): [string] => [`${start}evil.example/login`]);
  const property = fc.asyncProperty(pieces, async (id) => {
    for (const how of ["accepted", "see-other"]) {
      const location = (await locationOf(how, `/files/${id}`)) ?? "/";
      assert.equal(new URL(location, app.url).origin, app.url, location);
    }
  });
  await fc.assert(property, { examples, numRuns: runs(100, 5000) });
  assert.equal(await locationOf("see-other", "/files/../x"), "/x");
  assert.equal(await locationOf("see-other", "/files/../..//evil.example"), null);
});

it("has a location of this server for whatever path is redirected", async () => {
  const property = fc.asyncProperty(pieces, async (id) => {
    const path = `/${id}/`.replaceAll(/[^!-~]/g, "a").replaceAll("#", "");
    const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${app.port}\r\nConnection: close\r\n\r\n`;
    const [answer] = (await send(app.port, request)).responses;
    const location = answer?.headers.location ?? "/";
    assert.equal(new URL(location, app.url).origin, app.url, location);
  });
  const examples = ["/evil.example", "x/../..//evil.example", "\\evil.example"];
  await fc.assert(property, {
    examples: [...examples, "things"].map((each): [string] => [each]),
    numRuns: runs(100, 5000),
  });
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
