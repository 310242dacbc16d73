// Behind a proxy: which forwarded headers are trusted.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Proxies } from "../../src/http/headers/forwarded.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { answerOf, assertProblem, expectProblem } from "./expect.ts";
import { rawRequest } from "./raw-request.ts";

const base = "https://api.example.org/v1";
const ours = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"];
const ofEvil = {
  "x-forwarded-for": "203.0.113.9",
  "x-forwarded-proto": "https",
  "x-forwarded-host": "evil.example",
  forwarded: "for=203.0.113.9;proto=https;host=evil.example",
};

describe("the client's address", () => {
  const proxies = new Proxies(ours);
  const hops = [
    ["an untrusted peer is the client, whatever it says", "192.0.2.1", "203.0.113.9", "192.0.2.1"],
    ["a trusted peer names it", "10.0.0.1", "203.0.113.9", "203.0.113.9"],
    [
      "the right-most hop that is not ours",
      "10.0.0.1",
      "6.6.6.6, 203.0.113.9, 10.9.9.9",
      "203.0.113.9",
    ],
    ["what is left of it may be made up", "10.0.0.1", "10.0.0.3, 203.0.113.9", "203.0.113.9"],
    ["all hops are ours: the first of them", "10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"],
    ["no hop", "10.0.0.1", null, "10.0.0.1"],
    ["no address", "10.0.0.1", "unknown", "10.0.0.1"],
    ["a break in the chain", "10.0.0.1", "203.0.113.9, _hidden, 10.0.0.2", "10.0.0.2"],
    ["IPv6", "2001:db8::1", "2001:db9::7, 2001:db8::2", "2001:db9::7"],
    ["IPv4 in IPv6", "::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["IPv4 in IPv6, in hex", "10.0.0.1", "203.0.113.9, ::ffff:a00:2", "203.0.113.9"],
    ["nonsense", "10.0.0.1", ",,;\u0000%%%", "10.0.0.1"],
  ] as const;
  for (const [what, peer, forwardedFor, client] of hops) {
    it(`${what}`, () => assert.equal(proxies.clientAddress(peer, forwardedFor), client));
  }
});

describe("with trusted proxies", () => {
  const captured = captureLog();
  let app: TestApp;
  before(async () => {
    app = await startApp({ baseUrl: base, trustProxy: ours }, captured.log);
    await app.post("people", { name: "Ada" });
  });
  after(() => app.stop());

  async function clientOf(requestId: string | null) {
    await captured.settled();
    return captured.lines().find((line) => line.requestId === requestId)?.client;
  }

  const directly = (peer: string, headers: Record<string, string> = {}, path = "/people") =>
    app.direct(
      new Request(`http://localhost${path}`, {
        headers: { authorization: `Bearer ${app.admin}`, ...headers },
      }),
      peer,
    );

  it("the log has the client that a trusted peer forwards", async () => {
    const { headers } = await app.request("/people", {
      headers: { "x-forwarded-for": "1.1.1.1, 203.0.113.9" },
    });
    assert.equal(await clientOf(headers.get("x-request-id")), "203.0.113.9");
  });

  it("the log has the address of an untrusted peer", async () => {
    const { headers } = await directly("192.0.2.1", { "x-forwarded-for": "203.0.113.9" });
    assert.equal(await clientOf(headers.get("x-request-id")), "192.0.2.1");
  });

  it("a request that reached the proxy without TLS is rejected, whatever its token", async () => {
    for (const proto of ["http", "HTTP", "http, https", "https,http"]) {
      for (const token of [app.admin, "wrong", null]) {
        const headers = { "x-forwarded-proto": proto };
        const answer = await answerOf(app.request("/people", { token, headers }));
        assertProblem(answer, "tls-required", base);
        assert.equal(answer.headers.get("location"), null);
        assert.equal(answer.headers.get("www-authenticate"), null);
        assert.equal(answer.headers.get("strict-transport-security"), null);
      }
    }
  });

  it("a direct request over the network is rejected, whatever it claims", async () => {
    await expectProblem(directly("192.0.2.1"), "tls-required", base);
    await expectProblem(directly("192.0.2.1", ofEvil), "tls-required", base);
    await expectProblem(directly("2001:db9::1"), "tls-required", base);
  });

  it("a request over TLS, from this machine or from the program itself is accepted", async () => {
    for (const headers of [{ "x-forwarded-proto": "https" }, {}] as Record<string, string>[]) {
      const answer = await app.request("/people", { headers });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("strict-transport-security"), "max-age=31536000");
    }
    for (const peer of ["127.0.0.2", "::1", ""]) assert.equal((await directly(peer)).status, 200);
  });

  it("public addresses work without TLS, for load balancers", async () => {
    assert.equal((await directly("192.0.2.1", {}, "/-/ready")).status, 200);
  });

  it("forwarded headers do not change the URLs in a response", async () => {
    const answer = await answerOf(app.request("/people", { headers: ofEvil }));
    assert.ok(answer.headers.get("link")?.includes(`<${base}/people?`));
    const other = { ...ofEvil, host: "evil.example" };
    const rejected = await rawRequest(app, "/people", { headers: other });
    assertProblem(rejected, "misdirected", base);
    for (const { body, headers } of [answer, rejected]) {
      assert.ok(!JSON.stringify([body, ...headers]).includes("evil"));
    }
  });

  it("malformed headers are ignored", async () => {
    for (const value of ["", ";;;=", '"', "for=;proto=", "ä", "http:", "ftp"]) {
      const headers = { forwarded: value, "x-forwarded-for": value, "x-forwarded-proto": value };
      assert.equal((await directly("10.0.0.1", headers)).status, 200, value);
    }
  });
});

describe("without trusted proxies", () => {
  it("forwarded headers are ignored, and nothing is rejected because of them", async () => {
    const captured = captureLog();
    const app = await startApp({ baseUrl: base }, captured.log);
    try {
      const headers = { ...ofEvil, "x-forwarded-proto": "http" };
      const answer = await answerOf(app.request("/-/tokens", { headers }));
      assert.equal(answer.status, 200);
      await captured.settled();
      assert.ok(!captured.text().includes("203.0.113.9"));
    } finally {
      await app.stop();
    }
  });
});

describe("early data", () => {
  let app: TestApp;
  before(async () => {
    app = await startApp();
    await app.post("people", { name: "Ada" });
  });
  after(() => app.stop());

  const send = (method: string, path: string, value: string) => {
    const headers = { "content-type": "application/json", "early-data": value };
    const hasBody = !["GET", "HEAD", "DELETE"].includes(method);
    return rawRequest(app, path, { method, headers, ...(hasBody && { body: "{}" }) });
  };

  it("changes nothing, whatever the value of the field", async () => {
    const before = await send("GET", "/people", "1");
    assert.equal(before.status, 200);
    for (const value of ["1", "0", "1, 1", "x", ""])
      for (const line of ["POST /people", "PUT /people/a", "PATCH /people/a", "DELETE /people/a"]) {
        const [method = "", path = ""] = line.split(" ");
        assertProblem(await send(method, path, value), "too-early");
      }
    assertProblem(await send("POST", "/-/settings", "1"), "too-early");
    assert.equal((await send("GET", "/people", "1")).body, before.body);
  });

  it("is served to requests that change nothing", async () => {
    assert.equal((await send("HEAD", "/people", "1")).status, 200);
    assert.equal((await send("QUERY", "/people", "1")).status, 200);
    assert.equal((await send("OPTIONS", "/people", "1")).status, 204);
  });
});
