// Rate limits by address and by token, their headers, and guessed tokens.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { stopTimeHere } from "../clock.ts";
import { runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { answerOf, assertProblem } from "./expect.ts";

// What has passed through a limit fills up again with time.
stopTimeHere();

/** A request from an address that a socket here cannot have. */
function from(app: TestApp, peer: string, path: string, headers: Record<string, string> = {}) {
  const request = new Request(`http://localhost${path}`, { headers });
  return answerOf(app.direct(request, peer));
}

const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

describe("a limit for each address", () => {
  let app: TestApp;
  before(async () => {
    app = await startApp({ rateLimitPerAddress: 3, trustProxy: ["10.0.0.0/8"] });
  });
  after(() => app.stop());

  it("allows a number of requests, shows the rest, and then returns 429 with Retry-After", async () => {
    for (const left of [2, 1, 0]) {
      const { status, headers } = await from(app, "192.0.2.1", "/");
      assert.equal(status, 200);
      assert.equal(headers.get("ratelimit-policy"), '"address";q=3;w=60');
      assert.equal(headers.get("ratelimit"), `"address";r=${left};t=${(3 - left) * 20}`);
    }
    const rejected = await from(app, "192.0.2.1", "/");
    assertProblem(rejected, "too-many-requests");
    assert.equal(rejected.headers.get("retry-after"), "20");
    assert.equal(rejected.headers.get("ratelimit"), '"address";r=0;t=60');
  });

  it("counts requests with a valid token, and 404s, too", async () => {
    for (let count = 0; count < 3; count++)
      await from(app, "192.0.2.2", "/nowhere/at/all", bearer(app.admin));
    assertProblem(await from(app, "192.0.2.2", "/people", bearer(app.admin)), "too-many-requests");
  });

  it("counts a /64 of IPv6 as one address, and an IPv4 address in any notation", async () => {
    for (const peer of ["2001:db8:1:2::1", "2001:db8:1:2::2", "2001:db8:1:2:3:4:5:6"])
      assert.equal((await from(app, peer, "/")).status, 200);
    assertProblem(await from(app, "2001:db8:1:2::9", "/"), "too-many-requests");
    assert.equal((await from(app, "2001:db8:1:3::1", "/")).status, 200);
    for (const peer of ["::ffff:192.0.2.3", "192.0.2.3", "192.0.2.3"]) await from(app, peer, "/");
    assertProblem(await from(app, "::ffff:192.0.2.3", "/"), "too-many-requests");
  });

  it("counts the client behind a trusted proxy, and ignores headers of others", async () => {
    const behind = (peer: string, client: string) =>
      from(app, peer, "/", { "x-forwarded-for": client });
    for (let count = 0; count < 3; count++) await behind("10.0.0.1", "203.0.113.1");
    assertProblem(await behind("10.0.0.2", "203.0.113.1"), "too-many-requests");
    assert.equal((await behind("10.0.0.1", "203.0.113.2")).status, 200);
    for (let count = 0; count < 3; count++) await behind("192.0.2.4", `203.0.113.${10 + count}`);
    assertProblem(await behind("192.0.2.4", "203.0.113.99"), "too-many-requests");
  });

  it("never rejects health checks", async () => {
    for (let count = 0; count < 10; count++) {
      assert.equal((await from(app, "192.0.2.5", "/-/health")).status, 200);
      assert.equal((await from(app, "192.0.2.5", "/-/ready")).status, 200);
    }
  });
});

describe("a limit for each token", () => {
  let app: TestApp;
  before(async () => {
    app = await startApp({ rateLimitPerToken: 2, rateLimitPerAddress: 100 });
  });
  after(() => app.stop());

  it("counts a token from any address, and shows both limits", async () => {
    const secret = await app.token("people:read");
    await from(app, "192.0.2.1", "/people", bearer(secret));
    const second = await from(app, "192.0.2.2", "/people", bearer(secret));
    assert.equal(second.headers.get("ratelimit-policy"), '"address";q=100;w=60, "token";q=2;w=60');
    assert.match(second.headers.get("ratelimit") ?? "", /^"address";r=99;t=1, "token";r=0;t=60$/);
    assertProblem(await from(app, "192.0.2.3", "/people", bearer(secret)), "too-many-requests");
    const other = await app.token("people:read");
    assert.notEqual((await from(app, "192.0.2.1", "/people", bearer(other))).status, 429);
  });
});

describe("without settings", () => {
  let app: TestApp;
  const captured = captureLog();
  before(async () => {
    app = await startApp({}, captured.log);
  });
  after(() => app.stop());

  it("there are no limits and no headers", async () => {
    for (let count = 0; count < 200; count++) {
      const { status, headers } = await from(app, "192.0.2.1", "/-/tokens", bearer(app.admin));
      assert.equal(status, 200);
      assert.equal(headers.get("ratelimit"), null);
    }
  });

  it("after 20 invalid tokens from one address further ones are 429; a valid one never is", async () => {
    const guesses = runs(200, 20_000);
    const statuses = new Map<number, number>();
    for (let count = 0; count < guesses; count++) {
      const guess = count % 3 === 0 ? "wrong" : newSecret();
      const { status } = await from(app, "192.0.2.7", "/people", bearer(guess));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (count % 10 === 0)
        assert.equal((await from(app, "192.0.2.7", "/-/tokens", bearer(app.admin))).status, 200);
    }
    assert.deepEqual([...statuses.keys()], [401, 429]);
    assert.equal(statuses.get(401), 20);
    const rejected = await from(app, "192.0.2.7", "/people", bearer(newSecret()));
    assertProblem(rejected, "too-many-requests");
    assert.match(rejected.headers.get("retry-after") ?? "", /^3$/);
    assertProblem(await from(app, "192.0.2.7", "/people"), "unauthenticated");
    assertProblem(await from(app, "192.0.2.8", "/people", bearer("wrong")), "unauthenticated");
  });

  it("stores a bounded number of addresses, however many guess", async () => {
    for (let count = 0; count < runs(100, 15_000); count++) {
      const peer = `2001:db8:${(count >> 8).toString(16)}:${(count & 255).toString(16)}::1`;
      assertProblem(await from(app, peer, "/people", bearer("wrong")), "unauthenticated");
    }
  });

  it("logs the address of each client", async () => {
    const { headers } = await from(app, "::ffff:192.0.2.9", "/people");
    await captured.settled();
    const id = headers.get("x-request-id");
    const line = captured.lines().find(({ requestId }) => requestId === id);
    assert.equal(line?.client, "192.0.2.9");
  });
});
