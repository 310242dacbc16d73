// Reads files for an import: CSV as any program writes it, NDJSON and JSON, in pieces of any size.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { asCell, CsvSplitter, cellText, findSeparator } from "../../console/import/csv.ts";
import { openSource, recordsOf } from "../../console/import/file.ts";
import {
  type Mapping,
  mapHeader,
  mapRecord,
  suggestMapping,
} from "../../console/import/mapping.ts";

describe("CSV", () => {
  it("comes back from any cells, cut anywhere", () => {
    const cell = fc.string({
      unit: fc.constantFrom("a", ",", ";", "\t", '"', "\n", "\r\n", "é", " "),
    });
    const row = fc.array(cell, { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 8 }), fc.nat(40), (rows, size) => {
        const text = rows.map((cells) => `${cells.map(asCell).join(",")}\n`).join("");
        const splitter = new CsvSplitter(",");
        const found = [];
        for (let at = 0; at < text.length; at += size + 1)
          found.push(...splitter.push(text.slice(at, at + size + 1)));
        found.push(...splitter.end());
        assert.deepEqual(
          found.map(({ cells }) => cells.map(cellText)),
          rows,
        );
        // Each row begins at its line of the text.
        const lines = text.split("\n");
        for (const { line, cells } of found) {
          const [first = ""] = cells.join(",").split("\n");
          assert.ok((lines[line - 1] ?? "").startsWith(first.replace(/\r$/, "")));
        }
      }),
    );
  });

  it("takes a quote inside a cell as it is, and skips empty rows", () => {
    const splitter = new CsvSplitter(";");
    const rows = [...splitter.push('size;n\r\n5" pipe;1\r\n\r\nlast;2'), ...splitter.end()];
    assert.deepEqual(rows, [
      { line: 1, cells: ["size", "n"] },
      { line: 2, cells: ['5" pipe', "1"] },
      { line: 4, cells: ["last", "2"] },
    ]);
  });

  it("may begin with a line that names the separator, as for Excel", () => {
    for (const note of ["sep=;", "SEP=;\r", '"sep=;"']) {
      const text = `${note}\na,b,c;d\n1;2\n`;
      const separator = findSeparator(text);
      assert.equal(separator, ";");
      const splitter = new CsvSplitter(separator);
      assert.deepEqual(splitter.push(text), [
        { line: 2, cells: ["a,b,c", "d"] },
        { line: 3, cells: ["1", "2"] },
      ]);
    }
  });

  it("has the separator that is most frequent in the header", () => {
    assert.equal(findSeparator("a;b,c;d\n1,2,3,4"), ";");
    assert.equal(findSeparator("a\tb"), "\t");
    assert.equal(findSeparator("alone"), ",");
  });
});

const fileOf = (name: string, ...parts: (string | Uint8Array<ArrayBuffer>)[]): File =>
  new File(parts, name);

async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

describe("a file", () => {
  it("is CSV, NDJSON or JSON by its content", async () => {
    const formatOf = async (name: string, text: string) =>
      (await openSource(fileOf(name, text))).format;
    assert.equal(await formatOf("a.txt", "name,age\nAda,36\n"), "csv");
    assert.equal(await formatOf("a.json", '{"a":1}\n{"a":2}\n'), "ndjson");
    assert.equal(await formatOf("a.json", '{\n  "a": 1\n}\n'), "json");
    assert.equal(await formatOf("a", '[{"a":1}]'), "json");
    await assert.rejects(formatOf("a.csv", " \n"), /a\.csv is empty/);
  });

  it("is read in the encoding of older programs where it is not UTF-8", async () => {
    const source = await openSource(fileOf("a.csv", new Uint8Array([110, 10, 252, 10])));
    assert.equal(source.encoding, "windows-1252");
    assert.deepEqual(source.preview, [["ü"]]);
  });

  it("is read in each encoding to its end, as an array too, and never with other characters", async () => {
    const texts = async (...parts: Parameters<typeof fileOf>) =>
      (await all(recordsOf(await openSource(fileOf(...parts))))).map(({ content }) => content);
    const array = new TextEncoder().encode('[{"a":"x"}]').with(7, 252);
    assert.deepEqual(await texts("a.json", array), ['{"a":"ü"}']);
    for (const [mark, at] of [
      [[0xff, 0xfe], 0],
      [[0xfe, 0xff], 1],
    ] as const) {
      const bytes = [..."n\nü\n"].flatMap((one) =>
        at === 0 ? [one.charCodeAt(0), 0] : [0, one.charCodeAt(0)],
      );
      assert.deepEqual(await texts("a.csv", new Uint8Array([...mark, ...bytes])), [["n"], ["ü"]]);
    }
    const late = texts("late.csv", `n\n${"a\n".repeat(200_000)}`, new Uint8Array([252, 10]));
    await assert.rejects(late, /late\.csv begins in UTF-8, but a later part of it is not/);
  });

  it("keeps the digits of every number, so that the server can name what it cannot store", async () => {
    const number = "12345678901234567890";
    const renamed = new Map([["n", "m"]]);
    for (const [name, text] of [
      ["a.json", `[{"n":${number}},\n{"n":[1.5,1e400]}]`],
      ["a.ndjson", `{"n":${number}}\n{"n":[1.5,1e400]}`],
    ] as const) {
      const source = await openSource(fileOf(name, text));
      const records = await all(recordsOf(source));
      const sent = (mapping: Mapping) => records.map((one) => mapRecord(source, one, mapping));
      assert.deepEqual(sent(new Map()), [`{"n":${number}}`, '{"n":[1.5,1e400]}']);
      assert.deepEqual(sent(renamed), [`{"m":${number}}`, '{"m":[1.5,1e400]}']);
    }
  });

  it("loses no record and no column that is kept", async () => {
    const source = await openSource(fileOf("a.csv", 'First Name,age,"x,y"\n"A\nB",1,2\nC,3,4\n'));
    const mapping = new Map([...suggestMapping(source.columns, ["firstName"]), ["age", undefined]]);
    assert.equal(mapHeader(source, mapping), 'firstName,"x,y"');
    const [, ...records] = await all(recordsOf(source));
    assert.deepEqual(
      records.map((record) => [record.line, mapRecord(source, record, mapping)]),
      [
        [2, '"A\nB",2'],
        [4, "C,4"],
      ],
    );
  });

  it("keeps the text of NDJSON that is not changed, and renames members where asked", async () => {
    const source = await openSource(fileOf("a.ndjson", '{"n":1.10,"m":1}\n\nnope\n{"n":2}'));
    assert.deepEqual(source.columns, ["n", "m"]);
    const records = await all(recordsOf(source));
    const as = (mapping: Mapping) => records.map((record) => mapRecord(source, record, mapping));
    assert.deepEqual(as(suggestMapping(["n", "m"], [])), ['{"n":1.10,"m":1}', "nope", '{"n":2}']);
    assert.deepEqual(
      as(
        new Map<string, string | undefined>([
          ["n", "price"],
          ["m", undefined],
        ]),
      ),
      ['{"price":1.1}', "nope", '{"price":2}'],
    );
    assert.deepEqual(
      records.map(({ line }) => line),
      [1, 3, 4],
    );
  });
});
