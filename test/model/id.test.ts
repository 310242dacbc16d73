// Names of collections and ids of resources.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isCollectionName, isResourceId, newId } from "../../src/model/id.ts";
import fc from "../fast-check.ts";

const neither = [
  "",
  " ",
  "-a",
  "_a",
  ".",
  "..",
  "~a",
  "a/b",
  "a b",
  "a%20b",
  "ä",
  "a\n",
  "\na",
  "a\0",
  "*",
];

describe("a collection name", () => {
  for (const name of ["a", "0", "people", "a-b_c", "2026-11", "constructor", "a".repeat(63)])
    it(`${name} is valid`, () => assert.ok(isCollectionName(name)));
  for (const name of [...neither, "People", "a.b", "a~b", "a".repeat(64)])
    it(`${JSON.stringify(name)} is invalid`, () => assert.ok(!isCollectionName(name)));
});

describe("a resource id", () => {
  for (const id of ["a", "0", "A", "a.b", "a..", "A-b_c~d", "a".repeat(128)])
    it(`${id} is valid`, () => assert.ok(isResourceId(id)));
  for (const id of [...neither, "a".repeat(129)])
    it(`${JSON.stringify(id)} is invalid`, () => assert.ok(!isResourceId(id)));

  it("needs no escaping in a URL or in JSON", () => {
    const anyId = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/);
    fc.assert(
      fc.property(anyId, (id) => {
        assert.ok(isResourceId(id));
        assert.equal(encodeURIComponent(id), id);
        assert.equal(JSON.stringify(id), `"${id}"`);
        assert.equal(new URL(`http://localhost/people/${id}`).pathname, `/people/${id}`);
      }),
    );
  });
});

describe("a new id", () => {
  it("is a UUIDv7 with the current time", () => {
    const before = Date.now();
    const id = newId();
    const after = Date.now();
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.ok(isResourceId(id));
    const at = Number.parseInt(id.replace("-", "").slice(0, 12), 16);
    assert.ok(before <= at && at <= after, `${before} ${at} ${after}`);
  });

  it("is greater than every earlier one", () => {
    const ids = Array.from({ length: 20_000 }, newId);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual([...ids].sort(), ids);
  });
});
