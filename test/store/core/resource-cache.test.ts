// The cache of resources: bounded, and without removed entries.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Resource } from "../../../src/model/resource.ts";
import { ResourceCache } from "../../../src/store/core/resource-cache.ts";

const resource = (id: string, bytes = 744): Resource => ({
  id,
  revision: 1,
  createdAt: 1,
  updatedAt: 1,
  fields: "x".repeat(bytes),
});

/** Room for ten of the resources above in each of two generations. */
const hotResources = (): ResourceCache => new ResourceCache(20_000);

describe("the resource cache", () => {
  it("returns the same object", () => {
    const cache = hotResources();
    const kept = resource("a");
    cache.add(1, kept);
    assert.equal(cache.find(1, "a"), kept);
    assert.equal(cache.find(2, "a"), undefined);
    assert.equal(cache.find(1, "b"), undefined);
  });

  it("evicts what is not read, and keeps what is read", () => {
    const cache = hotResources();
    cache.add(1, resource("asked"));
    cache.add(1, resource("unasked"));
    for (let index = 0; index < 100; index++) {
      cache.add(1, resource(`other-${index}`));
      assert.ok(cache.find(1, "asked"));
    }
    assert.equal(cache.find(1, "unasked"), undefined);
  });

  it("stays within its limit", () => {
    const cache = hotResources();
    for (let index = 0; index < 100; index++) cache.add(index % 3, resource(`id-${index}`));
    let bytes = 0;
    for (let index = 99; index >= 0; index--)
      if (cache.find(index % 3, `id-${index}`)) bytes += 1_000;
    assert.ok(bytes > 0 && bytes <= 20_000, `${bytes} bytes`);
    cache.add(1, resource("too large", 20_000));
    assert.equal(cache.find(1, "too large"), undefined);
  });

  it("removes one, those of a collection, or all, in both generations", () => {
    const ids = Array.from({ length: 11 }, (_, index) => `id-${index}`);
    const cache = hotResources();
    for (const [index, id] of ids.entries()) cache.add(index % 2, resource(id));
    const left = () => ids.filter((id, index) => cache.find(index % 2, id)).length;
    assert.equal(left(), 11);
    cache.delete(0, "id-0");
    cache.delete(0, "id-10");
    assert.equal(left(), 9);
    cache.deleteAllOf(1);
    assert.equal(left(), 4);
    assert.equal(cache.hasAnyOf(1), false);
    assert.equal(cache.hasAnyOf(0), true);
    cache.clear();
    assert.equal(left(), 0);
  });
});
