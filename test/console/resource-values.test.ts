// What the form and the editor of a resource compute: patches, kinds of fields, values and names of files.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { conflictsOf, fieldsOf, patchOf, rebase } from "../../console/api/patch.ts";
import { labelOf, resolveSchema, schemaOf } from "../../console/api/schema.ts";
import { isFileSchema, kindOf, limitsOf, plainError } from "../../console/form/schema.ts";
import { fromLocalInput, parseJson, toLocalInput } from "../../console/form/values.ts";
import { readInput } from "../../console/grid/edit.ts";
import {
  fieldProblem,
  filesOf,
  isListField,
  nextName,
  usualField,
} from "../../console/resource/file-list.ts";
import { titleOf } from "../../console/state/title.ts";
import { numberHint, parseNumber } from "../../console/ui/number-text.ts";

describe("a patch of a resource", () => {
  const merge = "application/merge-patch+json";

  it("has the changed members only", () => {
    const base = { name: "Ada", age: 36, address: { city: "Bern", zip: "1" }, gone: 1 };
    const draft = { name: "Ada", age: 37, address: { city: "Basel", zip: "1" } };
    assert.deepEqual(patchOf(base, draft), {
      type: merge,
      body: { age: 37, address: { city: "Basel" }, gone: null },
    });
  });

  it("is a JSON Patch where null is a value", () => {
    assert.deepEqual(patchOf({ a: 1, "x/y": { b: 1 } }, { a: null, "x/y": { b: null } }), {
      type: "application/json-patch+json",
      body: [
        { op: "add", path: "/a", value: null },
        { op: "add", path: "/x~1y", value: { b: null } },
      ],
    });
    assert.equal(patchOf({ a: null, b: 1 }, { a: null, b: 2 }).type, merge);
    assert.equal(patchOf({}, { list: [null] }).type, merge);
  });

  it("keeps names such as constructor and __proto__", () => {
    const draft = JSON.parse('{"constructor":1,"__proto__":2}');
    assert.equal(JSON.stringify(patchOf({}, draft).body), '{"constructor":1,"__proto__":2}');
    assert.deepEqual(fieldsOf({ id: "a", createdAt: "", updatedAt: "", b: 1 }), { b: 1 });
  });

  it("puts the changes of two people together", () => {
    const base = { a: 1, b: 1, c: 1, d: 1 };
    const mine = { a: 2, b: 2, c: 1, d: 1 };
    const theirs = { a: 3, b: 1, c: 3 };
    assert.deepEqual(conflictsOf(base, mine, theirs), ["a"]);
    assert.deepEqual(rebase(base, mine, theirs), { a: 2, b: 2, c: 3 });
  });
});

describe("the fields of a form", () => {
  it("follow the schema, and what is there", () => {
    const cases = [
      [{ type: "string" }, undefined, "text"],
      [{ type: "string", maxLength: 1000 }, undefined, "long-text"],
      [{ type: ["string", "null"], format: "date" }, null, "date"],
      [{ type: "integer" }, "12x", "integer"],
      [{ type: "integer" }, [1], "json"],
      [{ enum: ["a"] }, "b", "choice"],
      [{ oneOf: [{ type: "string" }, { type: "number" }] }, 1, "json"],
      [{ properties: {} }, undefined, "object"],
      [{}, "text", "text"],
      [{}, { a: 1 }, "object"],
      [{}, undefined, "json"],
      [{}, { name: "a", type: "b", size: 1, url: "/c" }, "file"],
    ] as const;
    for (const [schema, value, kind] of cases)
      assert.equal(kindOf(schema, value), kind, JSON.stringify([schema, value]));
  });

  it("follow references inside the schema, also in a circle", () => {
    const root = {
      $defs: { person: { type: "object", properties: { friend: { $ref: "#/$defs/person" } } } },
      allOf: [{ $ref: "#/$defs/person" }, { required: ["friend"] }],
    };
    assert.deepEqual(resolveSchema(root, root).required, ["friend"]);
    assert.equal(schemaOf(root, ["friend", "friend", "friend"]).type, "object");
    const circle = { $ref: "#" };
    assert.deepEqual(resolveSchema(circle, circle), {});
  });

  it("have a label, also where the name or the title is empty", () => {
    assert.equal(labelOf({ title: "Name" }, "name"), "Name");
    assert.equal(labelOf({ title: "" }, "name"), "name");
    assert.equal(labelOf({}, ""), '""');
    assert.equal(labelOf({ title: " " }, " "), '" "');
  });

  it("say their limits", () => {
    assert.equal(limitsOf({ minLength: 2, maxLength: 9 }), "2 to 9 characters");
    assert.equal(limitsOf({ minimum: 0 }), "at least 0");
    assert.equal(limitsOf({}), "");
    assert.equal(limitsOf({ pattern: "^a$" }), "must match ^a$");
    assert.equal(limitsOf({ pattern: "^a$", examples: ["a"] }), "such as a");
    assert.equal(plainError("must match the pattern ^a$", { pattern: "^a$" }).at(-1), "$");
    const described = { pattern: "^a$", description: "A letter" };
    assert.equal(plainError("must match the pattern ^a$", described), "does not fit: A letter");
  });

  it("tell files from other objects", () => {
    const type = { enum: ["image/png"] };
    assert.equal(isFileSchema({ type: "object", properties: { type } }), true);
    assert.equal(isFileSchema({ type: "array", items: { properties: { size: {} } } }), true);
    assert.equal(isFileSchema({ properties: { type: { enum: ["cat", "dog"] } } }), false);
    assert.equal(isFileSchema({ properties: { url: {}, price: {} } }), false);
    assert.equal(isFileSchema({}), false);
  });

  it("turn texts into values", () => {
    const numbers = ["", " 1.50 ", "-2e3", "1,5", "Infinity", "0x10", "12x"].map(parseNumber);
    assert.deepEqual(numbers, [undefined, 1.5, -2000, 1.5, "Infinity", "0x10", "12x"]);
    const grouped = ["1 200", "1 200,50", "0,125", "1.234,5", "1,234,567.8"].map(parseNumber);
    assert.deepEqual(grouped, [1200, 1200.5, 0.125, 1234.5, 1234567.8]);
    assert.equal(parseNumber("1,200"), "1,200");
    assert.equal(numberHint("1,200"), "Write 1200 or 1.2.");
    const exact = ["+5", ".5", "-.5", "5.", "007", "9007199254740993", "12345678901234567890"];
    assert.deepEqual(exact.map(parseNumber), [5, 0.5, -0.5, 5, 7, ...exact.slice(5)]);
    assert.match(numberHint("12345678901234567890"), /more digits than a number keeps/);
    for (const text of ['{"a":[9007199254740993]}', "0.12345678901234567890", "1e400"])
      assert.match(JSON.stringify(parseJson(text)), /"error":"[^"]*: It has more digits/);
    const kept = '{"a":[1.50,9007199254740992,"9007199254740993",1e300,-0.1]}';
    assert.deepEqual(parseJson(kept), { value: JSON.parse(kept) });
    assert.equal(readInput("time", "275760-12-31T00:00", undefined), undefined);
    for (const time of ["2026-11-15T02:39:07.000Z", "0042-01-02T03:04:05.006Z"])
      assert.equal(fromLocalInput(toLocalInput(time) ?? ""), time);
    assert.equal(toLocalInput("yesterday"), undefined);
  });
});

describe("the title of a resource", () => {
  it("is its name, what ends in name, or another text", () => {
    assert.equal(titleOf({ id: "1", email: "a@b.c", name: "Ada" }), "Ada");
    assert.equal(titleOf({ id: "1", email: "a@b.c", "Company name": "Oak" }), "Oak");
    assert.equal(titleOf({ id: "1", email: "a@b.c", note: "x" }), "a@b.c");
    assert.equal(titleOf({ id: "1", number: 7, note: "x" }), "7");
    assert.equal(titleOf({ id: "1", count: 7 }), "1");
  });
});

describe("the names of files", () => {
  const file = (url: string) => ({ name: "a", type: "b", size: 1, sha256: "c", url });
  const resource = {
    docs: [file("/p/1/docs.2"), file("/p/1/docs.7")],
    photo: file("/p/1/photo"),
    name: "x",
  };

  it("go on after the highest number of a list", () => {
    assert.equal(nextName(resource, "docs"), "docs.8");
    assert.equal(nextName(resource, "scan"), "scan.1");
    assert.equal(isListField(resource, {}, "docs", 1), true);
    assert.equal(isListField(resource, {}, "scan", 1), false);
    assert.equal(isListField(resource, {}, "scan", 2), true);
    assert.equal(isListField(resource, {}, "files", 1), true);
    const declared = (type: string) => ({ schema: { properties: { scan: { type } } } });
    assert.equal(isListField(resource, declared("array"), "scan", 1), true);
    assert.equal(isListField(resource, declared("object"), "scan", 2), false);
    assert.equal(filesOf(resource).length, 3);
  });

  it("are checked, and sent with their letters", () => {
    assert.equal(fieldProblem(resource, "docs"), undefined);
    assert.match(fieldProblem(resource, "photo") ?? "", /already/);
    assert.equal(usualField(resource), "docs");
    assert.equal(usualField({ files: file("/p/1/files") }), "moreFiles");
    assert.match(fieldProblem(resource, "name") ?? "", /another value/);
    assert.match(fieldProblem(resource, "a.b") ?? "", /letters/);
  });
});
