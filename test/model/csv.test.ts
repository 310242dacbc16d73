// CSV rows: readable by spreadsheets, which run nothing in them.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fieldColumn, headerRow, memberColumn, membersOf, resourceRow } from "../../src/lib/csv.ts";

const rowOf = (fields: unknown, ...names: string[]) =>
  resourceRow(names.map(memberColumn), JSON.stringify(fields));

describe("a row", () => {
  const cases: readonly [what: string, value: unknown, cell: string][] = [
    ["a plain text", "Ada", "Ada"],
    ["a text with a comma", "Ada, Countess", '"Ada, Countess"'],
    ["a text with quotes", 'say "hi"', '"say ""hi"""'],
    ["a text of two lines", "a\nb", '"a\nb"'],
    ["spaces at the ends", " a ", '" a "'],
    ["an empty text", "", '""'],
    ["null", null, "null"],
    ["what is not there", undefined, ""],
    ["a number", -1.5, "-1.5"],
    ["true", true, "true"],
    ["a list", [1, "a"], '"[1,""a""]"'],
    ["an object", { a: { b: 1 } }, '"{""a"":{""b"":1}}"'],
    ["an emoji", "👩‍🚀", "👩‍🚀"],
  ];
  for (const [what, value, cell] of cases) {
    it(`shows ${what} as ${cell}`, () => {
      assert.equal(rowOf({ a: value, b: 1 }, "a", "b"), `${cell},1\r\n`);
    });
  }

  it("has no cell that a spreadsheet would run", () => {
    for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "＝1", "＠x"]) {
      assert.equal(rowOf({ a: text }, "a"), `'${text}\r\n`);
    }
    assert.equal(rowOf({ a: "\t=1" }, "a"), "'\t=1\r\n");
    assert.equal(rowOf({ a: "\r=1" }, "a"), `"'\r=1"\r\n`);
    assert.equal(rowOf({ a: '=HYPERLINK("x","y")' }, "a"), `"'=HYPERLINK(""x"",""y"")"\r\n`);
    assert.equal(headerRow([memberColumn("=cmd"), memberColumn("a,b")]), `'=cmd,"a,b"\r\n`);
    assert.equal(rowOf({ a: "a=1" }, "a"), "a=1\r\n");
  });

  it("keeps numbers as they were written", () => {
    const text = '{"a":12345678901234567890,"b":1.10,"c":1E3}';
    const columns = ["a", "b", "c"].map(memberColumn);
    assert.equal(resourceRow(columns, text), "12345678901234567890,1.10,1E3\r\n");
  });

  it("contains nested members, with any name", () => {
    const text = '{"address":{"city":"Bern"},"address.city":"x","__proto__":{"a":1}}';
    const at = (field: string) => resourceRow([fieldColumn(field)], text);
    assert.equal(at("address.city"), "Bern\r\n");
    assert.equal(at("address.zip"), "\r\n");
    assert.equal(at("address.city.name"), "\r\n");
    assert.equal(at("toString"), "\r\n");
    assert.equal(resourceRow([memberColumn("address.city")], text), "x\r\n");
    assert.equal(resourceRow([memberColumn("__proto__")], text), '"{""a"":1}"\r\n');
  });
});

describe("the members of a representation", () => {
  it("are named in their order", () => {
    assert.deepEqual([...membersOf('{"b":1,"a":{"c":2}}')], ["b", "a"]);
    assert.deepEqual([...membersOf("{}")], []);
  });
});
