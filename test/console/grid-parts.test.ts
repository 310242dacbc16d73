// The parts of the grid that need no browser: views in addresses, columns from schemas, and scrolling.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { queryText } from "../../console/api/query.ts";
import { chosenColumns, columnsOf, type Row } from "../../console/grid/columns.ts";
import { inputText, readInput } from "../../console/grid/edit.ts";
import { filterFields, operatorsFor } from "../../console/grid/operators.ts";
import { patchAt, segmentsOf, valueAt } from "../../console/grid/paths.ts";
import { rowsAsCsv, rowsAsJson } from "../../console/grid/rows-text.ts";
import {
  clampTop,
  lastTop,
  rowHeight,
  scrollHeight,
  scrollOf,
  topAfter,
  topToShow,
} from "../../console/grid/scroll.ts";
import { nestedText, numberFormOf, numberText } from "../../console/grid/texts.ts";
import { makeFilter, parseView, toggleSort, viewParams } from "../../console/grid/view.ts";

const row = (fields: Record<string, unknown>): Row =>
  ({ id: "1", createdAt: "", updatedAt: "", _etag: '"1"', ...fields }) as Row;

describe("a view in an address", () => {
  for (const text of [
    "",
    "age[gte]=30&sort=-age",
    "name=Ada&age[in]=1,2&q=lee&fields=name,address.city&-widths=name:240",
    "total[eq]=5&shifts[].day=mon&tags[ne]=a%26b%3Dc",
    "where=%7B%22%24not%22:%7B%22a%22:1%7D%7D",
    "__proto__[eq]=1&constructor=x",
  ])
    it(`stays the same: ${text}`, () => {
      const params = viewParams(parseView(new URLSearchParams(text)));
      assert.equal(queryText(params), text);
    });

  it("leaves out what the grid decides itself", () => {
    const view = parseView(new URLSearchParams("page=3&limit=5&cursor=x&total=none&a=1"));
    assert.deepEqual(
      view.filters.map(({ name }) => name),
      ["a"],
    );
  });

  it("takes an operator that it does not know for a part of the name", () => {
    const [filter] = parseView(new URLSearchParams("age[foo]=1")).filters;
    assert.deepEqual(filter, { name: "age[foo]", field: "age[foo]", operator: "eq", value: "1" });
  });

  it("names an operator where a field could be taken for a parameter", () => {
    assert.equal(makeFilter("age", "eq", "1", true).name, "age");
    assert.equal(makeFilter("limit", "eq", "1", true).name, "limit[eq]");
    assert.equal(makeFilter("offset", "eq", "1", false).name, "offset[eq]");
    assert.equal(makeFilter("age", "lt", "1", true).name, "age[lt]");
  });

  it("sorts up, down and no longer, alone or after others", () => {
    const up = toggleSort([], "a", false);
    assert.deepEqual(up, [{ path: "a", isDescending: false }]);
    const down = toggleSort(up, "a", false);
    assert.deepEqual(down, [{ path: "a", isDescending: true }]);
    assert.deepEqual(toggleSort(down, "a", false), []);
    const both = toggleSort(down, "b", true);
    assert.deepEqual(
      both.map(({ path }) => path),
      ["a", "b"],
    );
    assert.deepEqual(toggleSort(both, "a", true), [{ path: "b", isDescending: false }]);
  });
});

const definition = {
  schema: {
    type: "object",
    properties: {
      name: { type: "string", title: "Full name" },
      age: { type: ["integer", "null"] },
      level: { enum: ["gold", "silver"] },
      born: { type: "string", format: "date" },
      secret: { type: "string", writeOnly: true },
      address: { type: "object", properties: { city: { type: "string" } } },
      tags: { type: "array", items: { type: "string" } },
      lines: {
        type: "array",
        items: { type: "object", properties: { "a.b": { type: "number" } } },
      },
      friend: { type: "string" },
      fixed: { type: "string", readOnly: true },
    },
  },
  references: { friend: { collection: "people" } },
} as const;

describe("the columns of a collection", () => {
  const all = columnsOf(definition, [row({ extra: 5, mixed: 1 }), row({ mixed: "a" })]);
  const find = (path: string) => all.find((column) => column.path === path);

  it("come from the schema, from what is there, and from the server", () => {
    const paths =
      "name age level born address tags lines friend fixed extra mixed id createdAt updatedAt";
    assert.deepEqual(
      all.map(({ path }) => path),
      paths.split(" "),
    );
    assert.equal(find("name")?.label, "Full name");
    assert.equal(find("age")?.kind, "number");
    assert.equal(find("level")?.kind, "choice");
    assert.equal(find("born")?.kind, "date");
    assert.equal(find("extra")?.kind, "number");
    assert.equal(find("mixed")?.kind, "any");
    assert.equal(find("friend")?.refersTo, "people");
    for (const path of ["id", "updatedAt", "address", "tags", "fixed"])
      assert.ok(find(path)?.locked, path);
  });

  it("keep strange names apart", () => {
    const names = ["constructor", "__proto__", ".", "\\", "a.b", '"><script>', "x,y"];
    const fields = Object.fromEntries(names.map((name) => [name, name]));
    const strange = columnsOf({}, [row(fields)]);
    for (const name of names) {
      const column = strange.find(({ label }) => label === name);
      assert.equal(valueAt(row(fields), column?.path ?? ""), name);
    }
    assert.equal(valueAt(row({}), "constructor"), undefined);
  });

  it("are chosen by the address, whether they are known or not", () => {
    const chosen = chosenColumns(all, ["age", "address.city"]);
    assert.deepEqual(
      chosen.map(({ path }) => path),
      ["age", "address.city"],
    );
    assert.equal(chosenColumns(columnsOf({}, []), undefined)[0]?.path, "id");
  });

  it("begin with the title, and on a phone with what tells resources apart", () => {
    const names = ["status", "note", "placedAt", "total", "number"];
    const orders = ["1", "2"].map((id, number) =>
      row({ id, status: "open", note: id, placedAt: `2026-01-0${id}`, total: number, number }),
    );
    const found = columnsOf({}, orders);
    const pathsOf = (isNarrow: boolean) =>
      chosenColumns(found, undefined, isNarrow).map(({ path }) => path);
    assert.deepEqual(pathsOf(false), ["number", ...names.slice(0, -1), "updatedAt"]);
    assert.deepEqual(pathsOf(true), [
      ...["number", "total", "placedAt", "note", "status", "updatedAt"],
    ]);
  });

  it("offer the fields inside of objects and lists to filters", () => {
    const fields = filterFields(definition, all);
    const kinds = Object.fromEntries(fields.map(({ path, kind }) => [path, kind]));
    assert.equal(kinds["address.city"], "text");
    assert.equal(kinds.tags, "text");
    assert.equal(kinds["lines[].a\\.b"], "number");
    assert.equal(kinds.address, undefined);
    assert.ok(!operatorsFor("number").includes("like"));
    assert.ok(operatorsFor("text").includes("icontains"));
  });
});

describe("values in cells", () => {
  it("are found and patched by paths with escapes", () => {
    assert.deepEqual(segmentsOf("a\\.b.c"), ["a.b", "c"]);
    assert.deepEqual(segmentsOf(""), [""]);
    assert.deepEqual(patchAt("a\\.b.c", null), { "a.b": { c: null } });
    assert.ok(Object.hasOwn(patchAt("__proto__", 1), "__proto__"));
  });

  it("of one column have the same digits, and separators unless they are names", () => {
    const form = numberFormOf("total", false, [2350, 2772.3, 14.95, null]);
    assert.deepEqual(
      [2350, 14.9, 2772.345].map((value) => numberText(value, form)),
      ["2,350.00", "14.90", "2,772.345"],
    );
    for (const name of ["number", "orderNumber", "customer_id", "ID"])
      assert.equal(numberText(19_967, numberFormOf(name, false, [1, 2])), "19967", name);
    assert.equal(numberFormOf("seat", true, [12_345]).isGrouped, false);
    assert.equal(numberFormOf("built", false, [1987, 2001]).isGrouped, false);
    assert.equal(numberFormOf("casino", false, [1, 2001]).isGrouped, true);
    assert.equal(numberFormOf("latitude", false, [47.0707141]).digits, 0);
  });

  it("are short texts where they are lists and objects", () => {
    assert.equal(nestedText({ city: "Graz", lines: [1], country: "AT" }), "Graz, AT");
    assert.equal(nestedText({ a: { b: "<b>" } }), '{"a":{"b":"<b>"}}');
    assert.equal(nestedText(["a", "b"]), "a, b");
    assert.equal(nestedText([]), "[ ]");
    assert.equal(nestedText([{ quantity: 1 }]), "1 item");
    const lines = ["mug", "plate", "clock", "vase"].map((product) => ({ product, quantity: 1 }));
    assert.equal(nestedText(lines), "4 items: mug, plate, clock, …");
    assert.equal(nestedText(Array.from({ length: 1_200 }, () => ({}))), "1,200 items");
  });

  it("are read as the kind that they have", () => {
    assert.equal(readInput("number", "1.5", 1), 1.5);
    assert.equal(readInput("number", "x", 1), undefined);
    // What the form reads, a cell reads alike: a comma is never dropped.
    assert.equal(readInput("number", "17,50", 1), 17.5);
    assert.equal(readInput("number", "1,250", 1), undefined);
    assert.equal(readInput("number", "", 1), null);
    assert.equal(readInput("text", "", "a"), "");
    assert.equal(readInput("text", "", undefined), null);
    assert.equal(readInput("boolean", "false", true), false);
    const time = "2026-03-28T12:00:05.000Z";
    assert.equal(readInput("time", inputText("time", time), time), time);
  });

  it("are copied as JSON and as CSV that a spreadsheet does not run", () => {
    const rows = [row({ name: '=1+"x"', tags: ["a", "b"], _expanded: {} })];
    assert.deepEqual(Object.keys(JSON.parse(rowsAsJson(rows))[0]), [
      ...["id", "createdAt", "updatedAt", "name", "tags"],
    ]);
    const columns = chosenColumns(columnsOf({}, rows), ["name", "tags", "none"]);
    assert.equal(
      rowsAsCsv(rows, columns),
      `id,name,tags,none\r\n1,"'=1+""x""","[""a"",""b""]",\r\n`,
    );
  });
});

describe("the scroll bar of a long list", () => {
  const extent = { rows: 100_000_000, height: 600 };

  it("is shorter than the rows, and reaches both ends", () => {
    assert.ok(scrollHeight(extent) < 33_554_428);
    const end = scrollHeight(extent) - extent.height;
    assert.equal(scrollOf(lastTop(extent), extent), end);
    assert.equal(topAfter(5_000, 3, end, extent), lastTop(extent));
    assert.equal(topAfter(5_000, 3, 0, extent), 0);
  });

  it("moves by pixels of rows for the wheel, and far when it is dragged", () => {
    const top = 1_000_000_000;
    const from = scrollOf(top, extent);
    assert.equal(topAfter(top, from, from + 100, extent), top + 100);
    assert.equal(topAfter(top, from, from + 900, extent, true), top + 900);
    const far = topAfter(top, from, from + 700_000, extent);
    assert.ok(far > top + 100_000_000);
  });

  it("shows a row with the least movement", () => {
    assert.equal(topToShow(0, 0, extent), 0);
    assert.equal(topToShow(2, 1_000, extent), 2 * rowHeight);
    const last = topToShow(extent.rows - 1, 0, extent);
    assert.equal(last, lastTop(extent));
    assert.equal(clampTop(last + 1, extent), last);
  });

  it("is as tall as the rows of a short list", () => {
    const short = { rows: 100, height: 600 };
    assert.equal(scrollHeight(short), 100 * rowHeight);
    assert.equal(scrollOf(340, short), 340);
    assert.equal(lastTop({ rows: 3, height: 600 }), 0);
  });
});
