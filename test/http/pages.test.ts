// Pages of the server: the home document, discovery, health, and the headers of every response.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { problemKinds } from "../../src/model/problem.ts";
import { startApp, type TestApp } from "./app.ts";
import { requestEverything } from "./every-response.ts";
import { type Answer, answerOf, expectProblem } from "./expect.ts";

let app: TestApp;
before(async () => {
  app = await startApp();
});
after(() => app.stop());

/** As anyone may ask. */
const ask = (path: string, init: RequestInit = {}): Promise<Answer> =>
  answerOf(app.request(path, { ...init, token: null }));

/** A Link field by relation. */
function targetsOf(link: string | null): Readonly<Record<string, string>> {
  const targets: Record<string, string> = {};
  for (const [, target = "", rel = ""] of (link ?? "").matchAll(/<([^>]*)>; rel="([a-z-]+)"/g)) {
    targets[rel] = target;
  }
  return targets;
}

describe("the home document", () => {
  it("links to the main pages, and each link works", async () => {
    const { status, headers, body } = await ask("/");
    assert.equal(status, 200);
    const { name, version, links } = JSON.parse(body) as {
      name: string;
      version: string;
      links: Record<string, string>;
    };
    assert.equal(name, "Restante");
    assert.match(version, /^\d+\.\d+\.\d+/);
    const targets = targetsOf(headers.get("link"));
    assert.equal(targets["service-desc"], "/-/openapi.json");
    assert.equal(targets["api-catalog"], "/.well-known/api-catalog");
    for (const target of [...Object.values(links), ...Object.values(targets)]) {
      assert.equal((await app.request(target)).status, 200, target);
    }
  });

  it("links below the base URL", async () => {
    const prefixed = await startApp({ baseUrl: "https://api.example.org/v1" });
    try {
      const { headers, body } = await answerOf(prefixed.request("/"));
      const { links } = JSON.parse(body) as { links: Record<string, string> };
      for (const target of [
        ...Object.values(links),
        ...Object.values(targetsOf(headers.get("link"))),
      ]) {
        assert.ok(target.startsWith("https://api.example.org/v1/"), target);
      }
    } finally {
      await prefixed.stop();
    }
  });
});

describe("well-known addresses", () => {
  it("include the API catalog, a linkset, and HEAD has its link", async () => {
    const { status, headers, body } = await ask("/.well-known/api-catalog");
    assert.equal(status, 200);
    assert.equal(
      headers.get("content-type"),
      'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    );
    const { linkset } = JSON.parse(body) as {
      linkset: { anchor: string; [rel: string]: { href: string }[] | string }[];
    };
    const [catalogue] = linkset;
    assert.equal(catalogue?.anchor, "/");
    const described = catalogue?.["service-desc"] as { href: string }[];
    assert.deepEqual(
      described.map(({ href }) => href),
      ["/-/openapi.json"],
    );
    const head = await ask("/.well-known/api-catalog", { method: "HEAD" });
    assert.equal(targetsOf(head.headers.get("link"))["api-catalog"], "/.well-known/api-catalog");
  });

  it("other than these are 404, with or without a token", async () => {
    for (const path of [
      "/.well-known/x",
      "/.well-known/security.txt",
      "/.well-known",
      "/robots.txt",
    ]) {
      await expectProblem(app.request(path, { token: null }), "not-found");
      await expectProblem(app.request(path), "not-found");
    }
    const post = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    await expectProblem(app.request("/.well-known", post), "not-found");
  });
});

describe("health", () => {
  it("is public and not cached", async () => {
    for (const [path, status] of [
      ["/-/health", "ok"],
      ["/-/ready", "ready"],
    ] as const) {
      const answer = await ask(path);
      assert.equal(answer.status, 200);
      assert.deepEqual(JSON.parse(answer.body), { status });
      assert.equal(answer.headers.get("cache-control"), "no-store");
    }
  });
});

describe("pages", () => {
  const pages = ["/", "/.well-known/api-catalog", "/-/problems", "/-/problems/conflict"];

  it("have validators, and 304 for clients that have them already", async () => {
    for (const path of pages) {
      const { status, headers } = await ask(path);
      assert.equal(status, 200);
      const etag = headers.get("etag") ?? "";
      assert.match(etag, /^"[!#-~]+"$/, path);
      const modified = headers.get("last-modified") ?? "";
      assert.ok(Date.parse(modified) <= Date.parse(headers.get("date") ?? ""), path);
      for (const conditions of [{ "if-none-match": etag }, { "if-modified-since": modified }]) {
        const again = await ask(path, { headers: conditions as Record<string, string> });
        assert.deepEqual([again.status, again.body], [304, ""], path);
        assert.equal(again.headers.get("content-type"), null);
        for (const name of ["etag", "cache-control", "vary"]) {
          assert.equal(again.headers.get(name), headers.get(name), `${path} ${name}`);
        }
      }
      const other = await ask(path, { headers: { "if-none-match": '"other"' } });
      assert.equal(other.status, 200);
    }
  });

  it("accept no parameters", async () => {
    for (const path of [...pages, "/-/openapi.json", "/-/health", "/-/ready"]) {
      await expectProblem(app.request(`${path}?pretty`, { token: null }), "invalid-parameter");
    }
  });

  it("are UTF-8 HTML that may load and embed nothing", async () => {
    for (const path of [
      "/-/problems",
      ...Object.keys(problemKinds).map((kind) => `/-/problems/${kind}`),
    ]) {
      const { headers, body } = await ask(path);
      assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
      const policy = headers.get("content-security-policy") ?? "";
      for (const directive of [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
      ]) {
        assert.ok(policy.includes(directive), directive);
      }
      assert.match(body, /^<!doctype html><html lang="en">/);
      assert.ok(!/<script|javascript:|<p>[^<]*&(?!\w+;)/.test(body), path);
    }
  });

  it("of an unknown kind of problem are 404, and do not repeat the name", async () => {
    for (const kind of ["no-such-kind", "constructor", "__proto__", "%3Cscript%3E"]) {
      await expectProblem(app.request(`/-/problems/${kind}`, { token: null }), "not-found");
    }
  });
});

describe("every response", () => {
  it("has nosniff and a referrer policy, and does not reveal the software", async () => {
    for (const { asked, status, headers, body } of await requestEverything(app)) {
      assert.equal(headers.get("x-content-type-options"), "nosniff", asked);
      assert.equal(headers.get("referrer-policy"), "no-referrer", asked);
      assert.ok(headers.get("x-request-id"), asked);
      if (body !== "") assert.ok(headers.get("content-type"), asked);
      if ([204, 304, 308].includes(status)) assert.equal(headers.get("content-type"), null, asked);
      for (const name of ["server", "x-powered-by", "set-cookie", "strict-transport-security"]) {
        assert.equal(headers.get(name), null, `${asked}: ${name}`);
      }
    }
  });

  it("ignores cookies", async () => {
    const headers = { cookie: `token=${app.admin}; authorization=Bearer ${app.admin}` };
    await expectProblem(app.request("/people", { token: null, headers }), "unauthenticated");
  });

  it("behind https has Strict-Transport-Security", async () => {
    const secure = await startApp({ baseUrl: "https://api.example.org" });
    try {
      for (const { asked, headers } of await requestEverything(secure)) {
        assert.equal(headers.get("strict-transport-security"), "max-age=31536000", asked);
      }
    } finally {
      await secure.stop();
    }
  });
});
