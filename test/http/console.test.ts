// Serves the console: its page, its files, the redirect of browsers, and the switch that removes it.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";

const browser = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

describe("the console", () => {
  let app: TestApp;
  before(async () => {
    app = await startApp();
  });
  after(() => app.stop());

  it("sends a browser from / to the console, and others to the home document", async () => {
    const redirected = await app.request("/", { token: null, headers: browser });
    assert.equal(redirected.status, 302);
    assert.equal(redirected.headers.get("location"), "/-/console");
    assert.match(redirected.headers.get("vary") ?? "", /Accept/);
    for (const headers of [{}, { Accept: "*/*" }, { Accept: "application/json" }]) {
      const home = await app.request("/", { token: null, headers });
      assert.equal(home.status, 200);
      assert.equal(((await home.json()) as { name: string }).name, "Restante");
    }
  });

  it("serves the page without a token, under a strict policy", async () => {
    for (const path of ["/-/console", "/-/docs"]) {
      const page = await app.request(path, { token: null, headers: browser });
      assert.equal(page.status, 200);
      assert.equal(page.headers.get("cache-control"), "public, no-cache");
      const policy = page.headers.get("content-security-policy") ?? "";
      assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.match(policy, /require-trusted-types-for 'script'; trusted-types 'none'/);
      assert.doesNotMatch(policy, /unsafe/);
    }
  });

  it("serves every file that the page names; a name with a hash is cached for ever", async () => {
    const page = await (await app.request("/-/console", { token: null })).text();
    const names = [...page.matchAll(/(?:src|href)="console\/([^"]+)"/g)].map(([, name]) => name);
    assert.equal(names.length, 3);
    for (const name of names) {
      const file = await app.request(`/-/console/${name}`, { token: null });
      assert.equal(file.status, 200);
      const caching = name === "icon.svg" ? "no-cache" : "max-age=31536000, immutable";
      assert.equal(file.headers.get("cache-control"), `public, ${caching}`);
      const etag = file.headers.get("etag") ?? "";
      const again = await app.request(`/-/console/${name}`, {
        token: null,
        headers: { "If-None-Match": etag },
      });
      assert.equal(again.status, 304);
    }
  });

  it("serves nothing else", async () => {
    for (const name of ["nope.js", "..%2Fpackage.json", "index.html.map", "%00", "constructor"]) {
      const file = await app.request(`/-/console/${name}`, { token: null });
      assert.ok(file.status === 404 || file.status === 400, `${name}: ${file.status}`);
    }
    assert.equal((await app.request("/-/console?token=x", { token: null })).status, 401);
    assert.equal((await app.request("/-/console?x=1", { token: null })).status, 400);
  });

  it("is gone with --console off", async () => {
    app.reload({ console: "off" });
    for (const path of ["/-/console", "/-/docs", "/-/console/icon.svg"])
      assert.equal((await app.request(path, { token: null })).status, 404);
    const home = await app.request("/", { token: null, headers: browser });
    assert.equal(home.status, 200);
    assert.equal(home.headers.get("content-type"), "application/json");
    app.reload({ console: "on" });
    assert.equal((await app.request("/-/console", { token: null })).status, 200);
  });

  it("is found under the prefix of the base URL", async () => {
    const prefixed = await startApp({ baseUrl: "https://example.org/api" });
    const redirected = await prefixed.request("/", { token: null, headers: browser });
    assert.equal(redirected.headers.get("location"), "https://example.org/api/-/console");
    await prefixed.stop();
  });
});
