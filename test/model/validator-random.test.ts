// Random schemas: the validator agrees with a reference, and explains every error.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { keywords } from "../../src/lib/schema/metaschema.ts";
import { readDefinition } from "../../src/model/read-definition.ts";
import { validatorOf } from "../../src/model/validator.ts";
import fc from "../fast-check.ts";
import { runs } from "../seeds.ts";
import { fields, generatedKeywords, root } from "./random-schema.ts";
import { isValidByReference } from "./reference-validator.ts";

const name = fc.constantFrom("a", "b", "c", "constructor");
const keyword = fc.constantFrom(...keywords, "toString", "constructor", "x-a");
const oddity = fc.constantFrom(
  null,
  true,
  -1,
  1e300,
  "",
  "#",
  "#/$defs/a",
  "object",
  "email",
  "(",
  "^a+",
);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    oddity,
    fc.dictionary(keyword, tie("json"), { maxKeys: 4 }),
    fc.dictionary(name, tie("json"), { maxKeys: 2 }),
    fc.array(tie("json"), { maxLength: 3 }),
  ),
}));

describe("a random definition", () => {
  it("has errors or a validator, and never throws", () => {
    fc.assert(
      fc.property(json, json, json, (one, other, given) => {
        const errors = readDefinition(
          JSON.stringify({ schema: one, unique: other, access: given }),
        );
        assert.ok("preconditions" in errors || errors.length > 0);
        const definition = readDefinition(JSON.stringify({ schema: one }));
        if (!("preconditions" in definition)) return;
        const stored = JSON.stringify({ a: given, b: other });
        const accepted = validatorOf(definition).accept(stored, stored, false);
        assert.ok(accepted.length > 0);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the validator of a random schema", () => {
  it("accepts valid values unchanged, and explains the others", () => {
    const counts = { accepted: 0, rejected: 0 };
    fc.assert(
      fc.property(root, fc.array(fields, { minLength: 5, maxLength: 5 }), (schema, documents) => {
        const text = JSON.stringify({ schema });
        const definition = readDefinition(text);
        if (!("preconditions" in definition)) {
          // A schema must not apply itself to the same value, or more often with every level.
          assert.match(JSON.stringify(definition), /refers? back to/);
          return;
        }
        for (const document of documents.map((each) => JSON.stringify(each))) {
          const accepted = validatorOf(definition).accept(document, undefined, false);
          const isValid = isValidByReference(JSON.parse(text).schema, JSON.parse(document));
          if (isValid) assert.equal(accepted, document);
          else assert.ok(typeof accepted !== "string" && accepted.length > 0, document);
          counts[isValid ? "accepted" : "rejected"]++;
        }
      }),
      { numRuns: runs(80, 10_000) },
    );
    assert.ok(counts.accepted > 50 && counts.rejected > 50, JSON.stringify(counts));
  });

  it("has every keyword that decides about values", () => {
    const others = ["$schema", "$id", "default", "readOnly", "writeOnly"];
    assert.deepEqual([...generatedKeywords, ...others].sort(), [...keywords].sort());
  });
});
