// Which stored rows are traces of what is erased.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { encodeOutcomes, erasedText } from "../../../src/store/core/stored-outcomes.ts";
import { ErasedTraces } from "../../../src/store/core/traces.ts";
import type { Outcome } from "../../../src/store/store.ts";
import { put, remove } from "../contract/change-helpers.ts";

const created = (id: string, owner?: string): Outcome => ({
  kind: "created",
  resource: { id, revision: 1, createdAt: 1, updatedAt: 1, fields: "{}", ...(owner && { owner }) },
});

const outcomesOf = (id: string, owner?: string): string =>
  encodeOutcomes([put(id)], [created(id, owner)]);

describe("the traces of a resource", () => {
  const removed = [{ collection: "others", id: "b" }];
  const traces = new ErasedTraces({ changes: [remove("a")], removed }, []);

  it("are the keys whose outcomes contain it", () => {
    assert.ok(traces.isKey("t", outcomesOf("a")));
    assert.ok(!traces.isKey("t", outcomesOf("b")));
    assert.ok(!traces.isKey("t", erasedText));
  });

  it("are its former owners and states", () => {
    assert.ok(traces.isFormerOwner("things", "a", "ann"));
    assert.ok(!traces.isFormerOwner("others", "a", "ann"));
    assert.ok(traces.isFormerState("others", "b", "{}"));
    assert.ok(!traces.isFormerState("others", "c", '{"owner":"ann"}'));
    assert.deepEqual(
      ["things", "others", "more"].map((name) => traces.isAnyIn(name)),
      [true, true, false],
    );
  });
});

describe("the traces of a subject", () => {
  const traces = new ErasedTraces({ changes: [], removed: [], subject: "ann" }, ["token-1"]);

  it("are its keys, those of its tokens, and those that name it as an owner", () => {
    assert.ok(traces.isKey("ann", erasedText));
    assert.ok(traces.isKey("token-1", erasedText));
    assert.ok(traces.isKey("t", outcomesOf("a", "ann")));
    assert.ok(!traces.isKey("t", outcomesOf("a", "anna")));
    assert.ok(!traces.isKey("t", outcomesOf("ann")));
  });

  it("are former owners and states that name it", () => {
    assert.ok(traces.isFormerOwner("things", "a", "ann"));
    assert.ok(!traces.isFormerOwner("things", "ann", "bob"));
    assert.ok(traces.isFormerState("things", "a", '{"fields":"{}","owner":"ann"}'));
    assert.ok(!traces.isFormerState("things", "a", '{"fields":"{}"}'));
  });
});
