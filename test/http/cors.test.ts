// CORS (Fetch standard): what a browser lets pages of other origins send and read.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { routes } from "../../src/http/routes.ts";
import { send } from "../runtime/raw-connection.ts";
import { isShort } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { requestEverything } from "./every-response.ts";

const origin = "https://app.example";

const paths = Object.values(routes).map(({ path }) => path.replaceAll(/\{\w+\}/g, "people"));

const preflight = (app: TestApp, path: string, from: string, method = "POST") =>
  app.request(path, {
    method: "OPTIONS",
    token: null,
    headers: {
      origin: from,
      "access-control-request-method": method,
      "access-control-request-headers": "authorization, content-type",
    },
  });

const listOf = (field: string | null) => (field ?? "").split(",").map((item) => item.trim());

/** `*` is every header only where credentials are not allowed. */
function assertExposed(headers: Headers, asked: string): void {
  assert.equal(headers.get("access-control-expose-headers"), "*", asked);
  assert.equal(headers.get("access-control-allow-credentials"), null, asked);
}

/** The request headers that the source reads by name. */
async function fieldsRead(): Promise<ReadonlySet<string>> {
  const folder = fileURLToPath(new URL("../../src/http/", import.meta.url));
  const names = new Set<string>();
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith(".ts")) continue;
    const text = await readFile(join(folder, file), "utf8");
    for (const [, name = ""] of text.matchAll(/headers\s*\.(?:get|has)\("([a-z-]+)"\)/g)) {
      names.add(name);
    }
  }
  assert.ok(names.has("if-match") && names.has("idempotency-key"));
  return names;
}

describe("by default, for pages of any origin", () => {
  let app: TestApp;
  before(async () => {
    app = await startApp();
  });
  after(() => app.stop());

  it("a preflight needs no token, on every route", async () => {
    for (const path of paths) {
      const { status, headers } = await preflight(app, path, origin);
      assert.equal(status, 204, path);
      assert.equal(headers.get("access-control-allow-origin"), "*");
      assert.equal(headers.get("access-control-allow-methods"), headers.get("allow"));
      assert.ok(Number(headers.get("access-control-max-age")) >= 600);
    }
    const { headers } = await preflight(app, "/people", origin);
    assert.deepEqual(listOf(headers.get("access-control-allow-methods")), [
      "GET",
      "HEAD",
      "POST",
      "PUT",
      "QUERY",
      "OPTIONS",
    ]);
  });

  it("a preflight lists the headers, including Authorization", async () => {
    const { headers } = await preflight(app, "/people", origin);
    const allowed = listOf(headers.get("access-control-allow-headers"));
    for (const name of [
      "Authorization",
      "Content-Type",
      "If-Match",
      "If-None-Match",
      "Idempotency-Key",
      "Prefer",
      "Content-Digest",
    ]) {
      assert.ok(allowed.includes(name), name);
    }
    assert.ok(!allowed.includes("*"));
  });

  it("a preflight allows every header that the server reads, and those of common clients", async () => {
    const { headers } = await preflight(app, "/people", origin);
    const allowed = new Set(
      listOf(headers.get("access-control-allow-headers")?.toLowerCase() ?? ""),
    );
    /** A browser sets these itself, or a proxy does. */
    const forbidden =
      /^(?:accept-encoding|access-control-.*|connection|content-length|content-range|early-data|host|origin|sec-fetch-.*|trailer|transfer-encoding|upgrade|x-forwarded-.*|forwarded)$/;
    for (const name of await fieldsRead()) {
      if (!forbidden.test(name)) assert.ok(allowed.has(name), name);
    }
    const added =
      "x-requested-with traceparent tracestate baggage cache-control pragma content-encoding accept-language x-request-id last-event-id";
    for (const name of added.split(" ")) assert.ok(allowed.has(name), name);
  });

  it("a preflight of an address with a trailing slash is answered, not redirected", async () => {
    for (const path of ["/people/", "/people/ada/", "/-/batch/"]) {
      const { status, headers } = await preflight(app, path, origin);
      assert.equal(status, 204, path);
      const plain = await preflight(app, path.slice(0, -1), origin);
      for (const name of [
        "allow",
        "access-control-allow-methods",
        "access-control-allow-headers",
      ]) {
        assert.equal(headers.get(name), plain.headers.get(name), path);
      }
    }
    assert.equal((await preflight(app, "/no/such/place/at/all/", origin)).status, 404);
  });

  it("an OPTIONS that is not a preflight has no CORS headers for one", async () => {
    const { headers } = await app.request("/people", { method: "OPTIONS", token: null });
    assert.equal(headers.get("access-control-allow-methods"), null);
    assert.equal(headers.get("access-control-max-age"), null);
  });

  it("every response can be read, errors and 304 included, with all its headers, and none with cookies", async () => {
    const origins = [{ origin }, {}, { origin: "null" }];
    // The preflights are of the first one.
    for (const from of isShort ? origins.slice(1) : origins) {
      for (const { asked, headers } of await requestEverything(app, from)) {
        assert.equal(headers.get("access-control-allow-origin"), "*", asked);
        assertExposed(headers, asked);
        assert.ok(!/origin/i.test(headers.get("vary") ?? ""), asked);
      }
    }
  });
});

describe("with a list of origins", () => {
  let app: TestApp;
  before(async () => {
    app = await startApp({ corsOrigins: [origin, "https://other.example:8443"] });
  });
  after(() => app.stop());

  it("an origin in the list is allowed, and every response has Vary", async () => {
    for (const { asked, headers } of await requestEverything(app, { origin })) {
      assert.equal(headers.get("access-control-allow-origin"), origin, asked);
      assert.ok(listOf(headers.get("vary")).includes("Origin"), asked);
      assertExposed(headers, asked);
    }
    const other = await preflight(app, "/people", "https://other.example:8443");
    assert.equal(other.headers.get("access-control-allow-origin"), "https://other.example:8443");
  });

  it("any other origin, or none, is not allowed, and responses have Vary as well", async () => {
    for (const from of [{}, { origin: "https://evil.example" }]) {
      for (const { asked, headers } of await requestEverything(
        app,
        from as Record<string, string>,
      )) {
        assert.equal(headers.get("access-control-allow-origin"), null, asked);
        assert.ok(listOf(headers.get("vary")).includes("Origin"), asked);
      }
    }
  });

  it("origins are compared exactly", async () => {
    const otherOrigins = [
      "null",
      "https://app.example/",
      "https://app.example.evil.example",
      "https://evilapp.example",
      "https://APP.example",
      "http://app.example",
      "https://app.example:8443",
      "https://app.example, https://evil.example",
    ];
    for (const otherOrigin of otherOrigins) {
      const { status, headers } = await preflight(app, "/people", otherOrigin);
      assert.equal(status, 204);
      assert.equal(headers.get("access-control-allow-origin"), null, otherOrigin);
    }
  });

  it("errors of the parser have Vary too", async () => {
    const { responses } = await send(app.port, "GET /people HTTP/1.1\r\nHost : x\r\n\r\n");
    assert.equal(responses[0]?.headers.vary, "Origin");
  });
});

describe("with no origin allowed", () => {
  it("no page of another origin is allowed", async () => {
    const app = await startApp({ corsOrigins: [] });
    try {
      const { status, headers } = await preflight(app, "/people", origin);
      assert.equal(status, 204);
      assert.equal(headers.get("access-control-allow-origin"), null);
    } finally {
      await app.stop();
    }
  });
});
