// The OpenAPI document stays small when there are many collections.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Change } from "../../src/store/store.ts";
import { startApp, type TestApp } from "./app.ts";

interface Document {
  readonly info: { readonly description: string };
  readonly paths: Readonly<Record<string, unknown>>;
}

const count = 501;

describe("the document with many collections", () => {
  let app: TestApp;
  before(async () => {
    app = await startApp();
    const create = (_: unknown, n: number): Change => ({
      kind: "create-collection",
      collection: `c${n}`,
      at: Date.now(),
    });
    await app.writer.commit(Array.from({ length: count }, create));
  });
  after(() => app.stop());

  /** Without the check of responses, which describes every collection. */
  async function documentFor(token: string): Promise<Document> {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${app.url}/-/openapi.json`, { headers });
    assert.equal(response.status, 200);
    return (await response.json()) as Document;
  }

  it("describes what is the same for all, and says what to do", async () => {
    const { info, paths } = await documentFor(app.admin);
    assert.match(info.description, /^You may use 501 collections, .* use a token whose scopes/);
    assert.ok("/{collection}" in paths);
    assert.equal("/c7" in paths, false);
  });

  it("describes the collections of a token that names fewer", async () => {
    const { info, paths } = await documentFor(await app.token("c7:read", "c8:read"));
    assert.doesNotMatch(info.description, /You may use/);
    assert.ok("/c7" in paths && "/c8" in paths);
    assert.equal("/c9" in paths, false);
  });
});
