// What a form of the data providers sends: the patch of what has changed, applied, gives what the form shows.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { patchOf } from "../../client/records/patch.ts";
import { mergePatch } from "../../client/sync/merge-patch.ts";
import fc from "../fast-check.ts";

/** Every object inherits the last two. The server takes no `__proto__`. */
const name = fc.constantFrom("a", "b", "", "0", "constructor", "toString");
const { value, members } = fc.letrec<{ value: unknown; members: Record<string, unknown> }>(
  (tie) => ({
    value: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      fc.constantFrom(0, 1.5, "", "x", true),
      fc.array(tie("value"), { maxLength: 2 }),
      tie("members"),
    ),
    members: fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  }),
);

describe("a patch of a form", () => {
  it("gives what the form shows, whatever the members are called", () => {
    fc.assert(
      fc.property(name, members, value, members, (changed, before, next, others) => {
        const data = { ...others, ...before, [changed]: next };
        assert.deepEqual(mergePatch(before, patchOf(data, before)), data);
      }),
    );
  });

  it("removes a member inside of another one that every object inherits", () => {
    const patch = patchOf({ words: { a: 1 } }, { words: { a: 1, constructor: 2 } });
    assert.deepEqual(patch, { words: { constructor: null } });
  });
});
