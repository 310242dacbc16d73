// Definitions: the rules that a collection may have, and every fault of a text that is none.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Collection } from "../../src/model/collection.ts";
import { definitionOf, openDefinition, readDefinition } from "../../src/model/definition.ts";

describe("a definition", () => {
  it("is open where it says nothing", () => {
    assert.deepEqual(readDefinition("{}"), openDefinition);
    assert.deepEqual(openDefinition, { preconditions: "optional", idempotencyKey: "optional" });
  });

  it("has the rules that it names", () => {
    assert.deepEqual(readDefinition('{"preconditions":"required"}'), {
      preconditions: "required",
      idempotencyKey: "optional",
    });
    assert.deepEqual(readDefinition(' { "idempotencyKey" : "required" } '), {
      preconditions: "optional",
      idempotencyKey: "required",
    });
  });

  const wrong: readonly [text: string, pointers: readonly string[]][] = [
    ["[]", [""]],
    ["null", [""]],
    ["{", [""]],
    ['{"precondition":"required"}', ["/precondition"]],
    ['{"preconditions":true}', ["/preconditions"]],
    ['{"preconditions":"Required"}', ["/preconditions"]],
    [
      '{"preconditions":null,"a/b~":1,"idempotencyKey":""}',
      ["/preconditions", "/a~1b~0", "/idempotencyKey"],
    ],
    ['{"toString":"required","constructor":"optional"}', ["/toString", "/constructor"]],
    ['{"__proto__":{"preconditions":"required"}}', ["/__proto__"]],
    ['{"preconditions":"optional","preconditions":"required"}', ["/preconditions"]],
  ];
  for (const [text, pointers] of wrong) {
    it(`is not ${text}`, () => {
      const faults = readDefinition(text);
      assert.ok(!("preconditions" in faults));
      assert.deepEqual(
        faults.map(({ pointer }) => pointer),
        pointers,
      );
    });
  }

  it("is that of its collection, and open for one that has none", () => {
    const collection = (definition: string): Collection => ({
      name: "people",
      revision: 1,
      total: 0,
      definition,
      createdAt: 0,
      updatedAt: 0,
    });
    assert.deepEqual(definitionOf(collection("{}")), openDefinition);
    const strict = collection('{"preconditions":"required"}');
    assert.equal(definitionOf(strict).preconditions, "required");
    assert.equal(definitionOf(strict), definitionOf(strict));
  });
});
