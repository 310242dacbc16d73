// Representations of resources, made from the stored state.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readDraft } from "../../src/model/draft.ts";
import { rendererOf, renderPieces, represent } from "../../src/model/render.ts";
import { largeResource, type Resource, serverMembers } from "../../src/model/resource.ts";
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

describe("a resource whose fields are bytes", () => {
  const fields = '{"name":"Ada é 😀","pin":"1234"}';
  const { fields: _, ...rest } = resource();
  const large = (text = fields) => largeResource(rest, Buffer.from(text));
  const textOf = (pieces: readonly (string | Uint8Array)[]) =>
    pieces.map((piece) => Buffer.from(piece as string).toString()).join("");

  it("has the same representation, and its fields do not become text", () => {
    const pieces = renderPieces(rendererOf(undefined), large(), "/people");
    assert.equal(textOf(pieces), represent(resource({ fields })));
    assert.equal(pieces.length, 3);
    const empty = renderPieces(rendererOf(undefined), large("{}"), "/people");
    assert.equal(textOf(empty), represent(resource({ fields: "{}" })));
  });

  it("is rendered from text where it is not shown unchanged", () => {
    const definition = { schema: { properties: { pin: { writeOnly: true } } } };
    const render = rendererOf({ version: 1, definition: JSON.stringify(definition) });
    const pieces = renderPieces(render, large(), "/people");
    assert.equal(textOf(pieces), represent(resource({ fields: '{"name":"Ada é 😀"}' })));
    const files = JSON.stringify([]);
    const withFiles = largeResource({ ...rest, files }, Buffer.from(fields));
    const shown = rendererOf(undefined)(resource({ fields, files }), "/people");
    assert.equal(textOf(renderPieces(rendererOf(undefined), withFiles, "/people")), shown);
  });

  it("loses them in a copy, which can have other fields", () => {
    const copy = { ...large(), fields: "{}" };
    assert.equal(copy.fieldBytes, undefined);
    assert.equal({ ...large() }.fields, fields);
    assert.equal(large().fields, fields);
  });
});
