// Representations of resources, made from the stored state.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readDraft } from "../../src/model/draft.ts";
import { represent } from "../../src/model/render.ts";
import { type Resource, serverMembers } from "../../src/model/resource.ts";
import fc from "../fast-check.ts";
import { anyObject, anySpacing, errorsOf, write } from "./random-json.ts";

const resource = (parts: Partial<Resource> = {}): Resource => ({
  id: "ada",
  revision: 7,
  createdAt: Date.UTC(2026, 10, 15, 12, 30, 45, 6),
  updatedAt: Date.UTC(2026, 10, 15, 12, 30, 45, 6),
  fields: '{"name":"Ada"}',
  ...parts,
});

describe("a representation", () => {
  it("has the id, the user's fields, and the times", () => {
    assert.equal(
      represent(resource()),
      '{"id":"ada","name":"Ada","createdAt":"2026-11-15T12:30:45.006Z","updatedAt":"2026-11-15T12:30:45.006Z"}',
    );
  });

  it("has no extra comma when there are no fields", () => {
    assert.equal(
      represent(resource({ fields: "{}" })),
      '{"id":"ada","createdAt":"2026-11-15T12:30:45.006Z","updatedAt":"2026-11-15T12:30:45.006Z"}',
    );
  });

  it("has the times of any day as toISOString writes them", () => {
    const latest = 8.64e15;
    const anyTime = fc.oneof(
      fc.integer({ min: -latest, max: latest }),
      // Around midnight, and in years of four digits.
      fc.integer({ min: 0, max: 40_000 }).map((day) => day * 86_400_000),
      fc.integer({ min: 1, max: 40_000 }).map((day) => day * 86_400_000 - 1),
    );
    fc.assert(
      fc.property(anyTime, anyTime, (created, updated) => {
        const { createdAt, updatedAt } = JSON.parse(
          represent(resource({ createdAt: created, updatedAt: updated })),
        );
        assert.equal(createdAt, new Date(created).toISOString());
        assert.equal(updatedAt, new Date(updated).toISOString());
      }),
    );
  });

  it("has two different times", () => {
    const { createdAt, updatedAt } = JSON.parse(
      represent(resource({ createdAt: 0, updatedAt: 1 })),
    );
    assert.equal(createdAt, "1970-01-01T00:00:00.000Z");
    assert.equal(updatedAt, "1970-01-01T00:00:00.001Z");
  });

  it("contains the user's bytes unchanged", () => {
    const fields = '{"10":1.0,"9":[-0,1E2],"a":"\\u00e4\\/😀"}';
    assert.ok(represent(resource({ fields })).includes(fields.slice(1, -1)));
  });

  it("adds only the server's members", () => {
    assert.deepEqual(Object.keys(JSON.parse(represent(resource({ fields: "{}" })))), serverMembers);
  });

  it("sent back as a draft, has the same fields and id", () => {
    fc.assert(
      fc.property(anyObject, anySpacing, (object, spacing) => {
        fc.pre(errorsOf(object).size === 0);
        const draft = readDraft(new TextEncoder().encode(write(object, spacing)));
        assert.ok("fields" in draft);
        const sentBack = readDraft(
          new TextEncoder().encode(represent(resource({ fields: draft.fields }))),
        );
        assert.deepEqual(sentBack, { fields: draft.fields, id: "ada" });
      }),
      { numRuns: 300 },
    );
  });
});
