// Which definitions show resources in the same way, so that prepared responses outlast a change of the definition.

import assert from "node:assert/strict";
import { it } from "node:test";
import { masksOf } from "../../src/domain/mask.ts";

let version = 0;
/** The masks of a new definition. */
const defined = (definition: object, key?: string) =>
  masksOf({ version: ++version, definition: JSON.stringify(definition) }, key);

const open = { access: { read: "public" } };
const ruled = { access: { read: [{ name: "some", to: "everyone", fields: ["n"] }] } };
const hiding = { schema: { type: "object", properties: { n: { writeOnly: true } } } };
const indexes = { indexed: ["a"], searchable: ["b"], unique: ["c"] };

it("Masks are the same when only indexes differ", () => {
  assert.equal(defined({ ...open, ...indexes }), defined(open));
  assert.equal(defined({ ...ruled, ...indexes }, "key"), defined(ruled, "key"));
});

it("Masks differ when what is shown can differ", () => {
  const all = [defined({}), defined(open), defined(open, "key"), defined(ruled, "key")];
  const others = [defined(ruled, "other"), defined({ ...open, cache: { maxAge: 1 } })];
  assert.equal(new Set([...all, ...others]).size, all.length + others.length);
});

it("Masks of hidden fields differ with every definition, because their validators name it", () => {
  assert.notEqual(defined({ ...hiding, ...indexes }), defined(hiding));
});
