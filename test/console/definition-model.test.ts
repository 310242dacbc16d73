// Suggests schemas that fit what they were made from, and changes definitions field by field.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import type { JsonObject } from "../../console/api/json.ts";
import {
  accessWord,
  addField,
  changeAccess,
  changeField,
  fieldsOf,
  removeField,
} from "../../console/definition/model.ts";
import { suggestSchema } from "../../console/definition/suggest.ts";

const ajv = new Ajv2020({ strict: false, ownProperties: true });
addFormats.default(ajv);

describe("a suggested schema", () => {
  it("accepts every text alone", () => {
    const characters = fc.constantFrom(..."aZ09.-_+@:/?#%[]T é\"'");
    const near = fc.tuple(
      fc.constantFrom("", "http://", "https://a", "2026-01-", "2026-01-31T", "a@", "a.b@c."),
      fc.string({ unit: characters, maxLength: 12 }),
    );
    fc.assert(
      fc.property(near, ([start, end]) => {
        const resource = { text: start + end };
        const validate = ajv.compile(suggestSchema([resource]));
        assert.ok(validate(resource), JSON.stringify([resource, validate.errors]));
      }),
    );
  });

  it("accepts every resource that it was made from", () => {
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.string(),
        fc.constantFrom("2026-01-31", "2026-01-31T10:00:00Z", "a@b.example", "https://a.example/b"),
        // Almost a format.
        fc.constantFrom("2026-02-30", "0000-00-00", "2026-01-31T24:00:00Z", "2026-01-31T10:00Z"),
        fc.constantFrom("a..b@c.example", "a@-b.example", '"a"@b.example', "a@b_c.example"),
        fc.constantFrom(
          "http://a b",
          'http://"',
          "http://a:99999999",
          "http://[",
          "https://é.example",
        ),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("a", "b", "constructor", "__proto__"), tie("value")),
      ),
    })).value;
    const resource = fc.dictionary(fc.constantFrom("a", "b", "toString", "id"), value, {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(fc.array(resource, { minLength: 1, maxLength: 6 }), (list) => {
        const resources = JSON.parse(JSON.stringify(list)) as readonly JsonObject[];
        const validate = ajv.compile(suggestSchema(resources));
        for (const one of resources) assert.ok(validate(one), JSON.stringify(validate.errors));
      }),
    );
  });

  it("names types, formats and what is required, and leaves out what the server sets", () => {
    const schema = suggestSchema([
      { id: "1", createdAt: "x", name: "Ada", born: "1815-12-10", tags: ["a"], price: 1 },
      { id: "2", createdAt: "x", name: "Bob", price: 1.5 },
    ]);
    assert.deepEqual(schema, {
      type: "object",
      required: ["name", "price"],
      properties: {
        name: { type: "string" },
        born: { type: "string", format: "date" },
        tags: { type: "array", items: { type: "string" } },
        price: { type: "number" },
      },
    });
  });
});

describe("a definition", () => {
  const definition = {
    schema: {
      properties: { name: { type: "string", maxLength: 9 }, kind: { enum: ["a"] }, team: {} },
      additionalProperties: false,
    },
    unique: [["a", "b"]],
    searchable: [{ field: "name", weight: 3 }],
  };

  it("is shown as fields", () => {
    assert.deepEqual(
      fieldsOf(definition).map(({ name, type, isSearchable }) => [name, type, isSearchable]),
      [
        ["name", "text", true],
        ["kind", "other", false],
        ["team", "anything", false],
      ],
    );
  });

  it("keeps everything that a change does not name", () => {
    const changed = changeField(definition, "name", {
      type: "email",
      isRequired: true,
      isUnique: true,
    });
    assert.deepEqual(changed, {
      ...definition,
      schema: {
        ...definition.schema,
        required: ["name"],
        properties: {
          ...definition.schema.properties,
          name: { type: "string", format: "email", maxLength: 9 },
        },
      },
      unique: [["a", "b"], "name"],
    });
    const back = changeField(changed, "name", { type: "text", isRequired: false, isUnique: false });
    assert.deepEqual(back, definition);
  });

  it("adds a field and removes it with everything that names it", () => {
    const added = changeField(addField(definition, "boss", "text"), "boss", {
      ...{ isRequired: true, isIndexed: true, isSearchable: true },
      refersTo: "people",
    });
    assert.deepEqual(added.references, { boss: { collection: "people" } });
    assert.deepEqual(removeField(added, "boss"), definition);
    assert.deepEqual(removeField(definition, "name").searchable, undefined);
  });

  it("says who may do what", () => {
    const opened = changeAccess(definition, "read", "public");
    assert.equal(accessWord(opened, "read"), "public");
    assert.equal(accessWord(opened, "update"), "token");
    assert.equal(accessWord({ access: { read: [{ name: "x" }] } }, "read"), undefined);
    assert.deepEqual(changeAccess(opened, "read", "token"), definition);
  });
});
