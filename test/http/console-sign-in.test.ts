// The code of a sign-in link: exchanged once for an administrator's token, for 15 minutes, and good for nothing else.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { stopTimeHere, withClockMoved } from "../clock.ts";
import { PostgresServer } from "../postgres-server.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { answerOf, assertProblem, expectProblem } from "./expect.ts";

// What has passed through the limit of wrong codes fills up again with time.
stopTimeHere();

const minuteMs = 60_000;
const path = "/-/console/tokens";
const json = { "content-type": "application/json" };
const bodyOf = (code: unknown) => JSON.stringify({ code });

const exchange = (app: TestApp, code: unknown): Promise<Response> =>
  app.request(path, { method: "POST", token: null, headers: json, body: bodyOf(code) });

/** From an address of its own, because wrong codes are limited. */
function exchangeFrom(app: TestApp, peer: string, code: unknown) {
  const body = bodyOf(code);
  const headers = { ...json, "content-length": String(Buffer.byteLength(body)) };
  const request = new Request(`http://localhost${path}`, { method: "POST", headers, body });
  return answerOf(app.direct(request, peer));
}

interface Issued {
  readonly id: string;
  readonly token: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  readonly expiresAt: string;
}

describe("a sign-in code", () => {
  let app: TestApp;
  before(async () => {
    app = await startApp();
  });
  after(() => app.stop());

  it("becomes an administrator's token of 12 hours, which is listed and revoked as any other", async () => {
    const made = await exchange(app, await app.code());
    assert.equal(made.status, 201);
    const { id, token, scopes, createdAt, expiresAt } = (await made.json()) as Issued;
    assert.equal(made.headers.get("location"), `/-/tokens/${id}`);
    assert.deepEqual(scopes, ["admin"]);
    assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 12 * 60 * minuteMs);
    const listed = await (await app.request("/-/tokens", { token })).text();
    assert.match(listed, new RegExp(`"id":"${id}","name":"console sign-in"`));
    assert.match(listed, /"total":2,/);
    assert.equal((await app.request(`/-/tokens/${id}`, { method: "DELETE", token })).status, 204);
    assert.equal((await app.request("/-/tokens", { token })).status, 401);
  });

  it("that was used, has expired or never was is the same 401 as text that is none", async () => {
    const used = await app.code();
    await exchange(app, used);
    const expired = await app.code();
    const details = new Set<string>();
    const expectRefusal = async (code: string): Promise<void> => {
      const answer = await exchangeFrom(app, "192.0.2.1", code);
      details.add(assertProblem(answer, "unauthenticated").detail);
      assert.ok(answer.headers.get("www-authenticate"));
    };
    for (const code of [used, newSecret("rsc"), app.admin, "rsc_", ""]) await expectRefusal(code);
    await withClockMoved(15 * minuteMs, () => expectRefusal(expired));
    assert.equal(details.size, 1);
    assert.match([...details].join(), /`restante console`/);
  });

  it("lives 15 minutes", async () => {
    const code = await app.code();
    const answer = await withClockMoved(15 * minuteMs - 1_000, () => exchange(app, code));
    assert.equal(answer.status, 201);
  });

  it("authenticates no request, and is in no list", async () => {
    const code = await app.code();
    for (const token of [code, code.replace("rsc_", "rst_")])
      await expectProblem(app.request("/-/tokens", { token }), "unauthenticated");
    assert.equal((await app.request("/-/openapi.json", { token: code })).status, 401);
    assert.doesNotMatch(await (await app.request("/-/tokens")).text(), /sign-in code/);
    // It was not used up.
    assert.equal((await exchange(app, code)).status, 201);
  });

  it("is limited when it is wrong, as a token is; a right one never is", async () => {
    const peer = "192.0.2.2";
    for (let count = 0; count < 20; count++)
      assertProblem(await exchangeFrom(app, peer, newSecret("rsc")), "unauthenticated");
    const limited = await exchangeFrom(app, peer, newSecret("rsc"));
    assertProblem(limited, "too-many-requests");
    assert.equal((await exchangeFrom(app, peer, await app.code())).status, 201);
  });

  it("must be the only member of a JSON object, and a string", async () => {
    for (const body of ["{}", "[]", bodyOf(1), '{"code":"a","more":1}']) {
      const sent = app.request(path, { method: "POST", token: null, headers: json, body });
      await expectProblem(sent, "invalid-body");
    }
  });

  it("is not exchanged without encryption where the base URL is https, nor without the console", async () => {
    const code = await app.code();
    const baseUrl = "https://example.org";
    app.reload({ baseUrl, trustProxy: ["10.0.0.0/8"] });
    assertProblem(await exchangeFrom(app, "192.0.2.3", code), "tls-required", baseUrl);
    app.reload({ console: "off" });
    await expectProblem(exchange(app, code), "not-found");
    app.reload({});
    assert.equal((await exchange(app, code)).status, 201);
  });
});

for (const store of storesHere("postgres", ["sqlite", "postgres"]))
  describe(`20 exchanges of one code at once, on ${store}`, () => {
    it("make one token", async () => {
      const postgres = store === "postgres" ? await PostgresServer.shared() : undefined;
      const shared = { store: await postgres?.preparedDatabase(), adminToken: newSecret() };
      const first = await startApp(shared);
      // Another node on the same database.
      const nodes = postgres ? [first, await startApp(shared)] : [first];
      const code = await first.code();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          exchangeFrom(nodes[at % nodes.length] ?? first, `192.0.2.${at}`, code),
        ),
      );
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
      assert.deepEqual(statuses, [201, ...Array(19).fill(401)]);
      const listed = await (await first.request("/-/tokens")).text();
      assert.equal(listed.match(/"console sign-in"/g)?.length, 1);
      for (const node of nodes) await node.stop();
      await postgres?.close();
    });
  });
