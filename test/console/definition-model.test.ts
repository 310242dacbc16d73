// Suggests schemas that fit what they were made from, and changes definitions field by field.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import type { Json, JsonObject } from "../../console/api/json.ts";
import {
  accessWord,
  audienceOf,
  audienceValue,
  changeAccess,
  changeGrant,
  firstGrant,
  grantsOf,
  verbs,
} from "../../console/definition/access.ts";
import { conditionsOf, whereOf } from "../../console/definition/conditions.ts";
import { addField, changeField, fieldsOf, removeField } from "../../console/definition/model.ts";
import { isReadable } from "../../console/definition/readable.ts";
import { suggestSchema } from "../../console/definition/suggest.ts";
import { columnsOf } from "../../console/grid/columns.ts";
import { filterFields } from "../../console/grid/operators.ts";
import { runs } from "../seeds.ts";

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

  it("may have schemas that are true or false", () => {
    const bare = {
      schema: { properties: { any: true, none: false, list: { type: "array", items: true } } },
    };
    const fields = fieldsOf(bare as never);
    assert.deepEqual(
      fields.map(({ path, type }) => [path, type]),
      [
        ["any", "anything"],
        ["none", "other"],
        ["list", "other"],
      ],
    );
    const { schema } = changeField(bare as never, "any", { type: "text" });
    assert.deepEqual(schema?.properties?.any, { type: "string" });
  });

  it("is shown only where all that is shown has its shape", () => {
    const member = fc.constantFrom("schema", "unique", "searchable", "references", "access");
    const keyword = fc.constantFrom("properties", "items", "required", "enum", "type", "$ref");
    const json = fc.jsonValue() as fc.Arbitrary<Json>;
    const property = fc.dictionary(keyword, json, { maxKeys: 3 });
    const schema = fc.record({ properties: fc.dictionary(fc.string(), fc.oneof(property, json)) });
    const any = fc
      .tuple(fc.dictionary(member, json, { maxKeys: 2 }), fc.option(schema))
      .map(([members, schema]): JsonObject => ({ ...members, ...(schema && { schema }) }));
    fc.assert(
      fc.property(any, (draft) => {
        if (!isReadable(draft)) return;
        for (const { path } of fieldsOf(draft)) removeField(draft, path);
        filterFields(draft, columnsOf(draft, []));
        for (const verb of verbs) grantsOf(draft, verb);
      }),
      { numRuns: runs(300, 10_000) },
    );
    assert.ok(isReadable(definition as JsonObject));
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
    const audiences = ["token", "public", "owner", "admin"].map((word) => firstGrant(word).to);
    assert.deepEqual(audiences, ["token", "everyone", "owner", "token"]);
  });

  it("changes members of objects and of lists of objects", () => {
    const made = addField(addField({}, "address", "object"), "lines", "list of objects");
    const inside = addField(made, "city", "text", ["address"]);
    const deep = addField(inside, "sku", "text", ["lines", "[]"]);
    const full = ["address.city", "lines[].sku"].reduce(
      (next, path) => changeField(next, path, { isRequired: true, isIndexed: true }),
      deep,
    );
    assert.deepEqual(full, {
      schema: {
        properties: {
          address: {
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
          },
          lines: {
            type: "array",
            items: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] },
          },
        },
      },
      indexed: ["address.city", "lines[].sku"],
    });
    assert.deepEqual(
      fieldsOf(full).map(({ path, hasMembers, isIndexed }) => [path, hasMembers, isIndexed]),
      [
        ["address", true, false],
        ["address.city", false, true],
        ["lines", true, false],
        ["lines[].sku", false, true],
      ],
    );
    assert.deepEqual(removeField(full, "lines").indexed, ["address.city"]);
    assert.deepEqual(changeField(full, "address", { type: "text" }).schema?.properties?.address, {
      type: "string",
    });
    const odd = addField(addField({}, "a.b", "object"), "__proto__", "text", ["a.b"]);
    assert.deepEqual(
      fieldsOf(odd).map(({ path }) => path),
      ["a\\.b", "a\\.b.__proto__"],
    );
  });

  it("has grants for everyone, tokens, owners, a role or a scope", () => {
    const ruled = changeAccess(definition, "read", [firstGrant("public")]);
    assert.deepEqual(grantsOf(ruled, "read"), [{ name: "everyone", to: "everyone" }]);
    for (const to of ["everyone", "token", "owner", { role: "editor" }, { scope: "a:read" }]) {
      const { kind = "token", name = "" } = audienceOf({ to }) ?? {};
      assert.deepEqual(audienceValue(kind, name), to);
    }
    assert.equal(audienceOf({ to: { role: "a", scope: "b" } }), undefined);
    assert.deepEqual(changeGrant({ name: "x", where: { a: 1 } }, "where", {}), { name: "x" });
  });
});

describe("the conditions of a grant", () => {
  const field = (path: string, kind: "text" | "number" | "boolean") => ({
    ...{ path, label: path, kind, options: [] },
  });
  const fields = [field("author", "text"), field("age", "number"), field("open", "boolean")];

  it("are filters where filters can say them, and come back as they were", () => {
    const where = {
      ...{ author: "$me", age: { gte: 3, lt: 9 }, open: true },
      ...{ team: { in: "$my.teams" }, status: { in: ["a", "b"] }, note: { exists: false } },
    };
    const { filters, rest } = conditionsOf(where, fields);
    assert.deepEqual(
      filters.map(({ name, value }) => `${name}=${value}`),
      [
        ...["author=$me", "age[gte]=3", "age[lt]=9", "open=true"],
        ...["team[in]=$my.teams", "status[in]=a,b", "note[exists]=false"],
      ],
    );
    assert.deepEqual(rest, {});
    assert.deepEqual(whereOf({ filters, rest }, fields), where);
  });

  it("stay JSON where a filter would change them", () => {
    const where = { $or: [{ age: 1 }], author: "5", age: "5", x: { in: ["a,b"] }, y: null };
    const { filters, rest } = conditionsOf(where, fields);
    assert.deepEqual(
      filters.map(({ name }) => name),
      ["author"],
    );
    assert.deepEqual(Object.keys(rest), ["$or", "age", "x", "y"]);
    assert.deepEqual(whereOf({ filters, rest }, fields), where);
  });

  it("come back whatever they are", () => {
    const value = fc.oneof(
      ...[fc.string(), fc.integer(), fc.boolean(), fc.constant(null)],
      fc.array(fc.string()),
      fc.dictionary(fc.constantFrom("eq", "in", "gte", "exists", "odd"), fc.string()),
    );
    const names = fc.constantFrom("author", "age", "open", "other", "$or", "constructor");
    fc.assert(
      fc.property(fc.dictionary(names, value, { noNullPrototype: true }), (drawn) => {
        const where = JSON.parse(JSON.stringify(drawn)) as JsonObject;
        assert.deepEqual(whereOf(conditionsOf(where, fields), fields), where);
      }),
    );
  });
});
