// CSV in: rows at any chunk boundary, strict errors, and values that come back as they were written.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  headerRow,
  memberColumn,
  membersOf,
  pathOfColumn,
  resourceRow,
} from "../../src/lib/csv.ts";
import { CsvSplitter, readCells, type Separator } from "../../src/lib/csv-splitter.ts";
import { CsvTable, type TableOptions } from "../../src/model/csv-table.ts";
import fc from "../fast-check.ts";
import { newSeed, runs } from "../seeds.ts";

const open: TableOptions = { schema: undefined, isInferring: true };

/** Splits the bytes, fed in pieces of these sizes. */
function rowsOf(
  bytes: Uint8Array,
  sizes: readonly number[] = [bytes.length],
  maxBytes = 1_000_000,
) {
  const splitter = new CsvSplitter(maxBytes);
  const rows = [];
  let from = 0;
  for (const size of sizes) {
    rows.push(...splitter.add(bytes.subarray(from, from + size)));
    from += size;
  }
  rows.push(...splitter.add(bytes.subarray(from)), ...splitter.end());
  return rows.map(({ number, bytes: row, isUnclosed }) => [
    number,
    row === undefined ? undefined : Buffer.from(row).toString(),
    ...(isUnclosed ? ["unclosed"] : []),
  ]);
}

/** The objects of a table. */
function read(text: string, options: TableOptions = open): readonly unknown[] {
  const splitter = new CsvSplitter(1_000_000);
  const [header, ...rows] = [...splitter.add(Buffer.from(text)), ...splitter.end()];
  const cellsOf = (bytes: Uint8Array | undefined) => {
    const cells = readCells(Buffer.from(bytes ?? []).toString(), splitter.separator);
    assert.ok(typeof cells !== "string", String(cells));
    return cells;
  };
  const table = CsvTable.of(cellsOf(header?.bytes), options);
  assert.ok(typeof table !== "string", String(table));
  return rows.map(({ bytes }) => JSON.parse(table.jsonOf(cellsOf(bytes)) ?? "{}"));
}

/** Node 24 reads some names with escapes as a backslash. */
const isReadable = (value: unknown): boolean => !JSON.stringify(value).includes("\\");

const written = (resources: readonly object[]): string => {
  const texts = resources.map((each) => JSON.stringify(each));
  const columns = [...new Set(texts.flatMap((text) => [...membersOf(text)]))].map(memberColumn);
  return headerRow(columns) + texts.map((text) => resourceRow(columns, text)).join("");
};

describe("the rows of a CSV body", () => {
  it("end with any line break that is not within quotes, and have the number of their first line", () => {
    const text = 'a,b\r\n1,"x\r\ny"\n\n2,3\r4,5\r\n"6\n",7';
    assert.deepEqual(rowsOf(Buffer.from(text)), [
      ...[
        [1, "a,b"],
        [2, '1,"x\r\ny"'],
        [5, "2,3"],
        [6, "4,5"],
        [7, '"6\n",7'],
      ],
    ]);
  });

  it("are the same at every chunk boundary", () => {
    const bytes = Buffer.from('ä,"b;""\r\n€"\r\n1,2\r\n\n"a\r\nb",""""\r\nlast,"');
    const whole = rowsOf(bytes);
    assert.equal(whole.at(-1)?.[2], "unclosed");
    for (let at = 0; at <= bytes.length; at++)
      assert.deepEqual(rowsOf(bytes, [at]), whole, `${at}`);
    assert.deepEqual(rowsOf(bytes, Array(bytes.length).fill(1)), whole);
  });

  it("are dropped when they exceed the limit, and the next one is read", () => {
    const text = `a,b\n1,"${"x\n".repeat(50)}"\n3,4\n`;
    assert.deepEqual(rowsOf(Buffer.from(text), Array(30).fill(3), 20), [
      ...[
        [1, "a,b"],
        [2, undefined],
        [53, "3,4"],
      ],
    ]);
  });

  it("are separated by what the header shows", () => {
    const separators: readonly (readonly [string, Separator])[] = [
      ["a,b", ","],
      ["a;b", ";"],
      ["a\tb\tc,d", "\t"],
      ['"a;b;c",d', ","],
      ["a", ","],
    ];
    for (const [header, separator] of separators) {
      const splitter = new CsvSplitter(100);
      splitter.add(Buffer.from(`${header}\n`));
      assert.equal(splitter.separator, separator, header);
    }
  });

  it("are malformed with a reason", () => {
    const cases: readonly (readonly [string, RegExp])[] = [
      ['a,"b', /quote of cell 2 is not closed/],
      ['"a"b,c', /cell 1 continues after its closing quote/],
      ['a,b"c', /cell 2 has a quote within/],
    ];
    for (const [row, reason] of cases) assert.match(String(readCells(row, ",")), reason, row);
  });
});

describe("a table", () => {
  const tableOf = (header: string, options = open) => {
    const cells = readCells(header, ",");
    return typeof cells === "string" ? cells : CsvTable.of(cells, options);
  };

  it("has columns with different names that do not contradict each other", () => {
    const cases: readonly (readonly [string, RegExp])[] = [
      ["a,,b", /column 2 has no name/],
      ["a,b,a", /two columns are called a/],
      ["a,a.b", /a\.b is a value and has members/],
      ["a.b,a", /a is a value and has members/],
      [Array.from({ length: 70_000 }, (_, index) => `c${index}`).join(), /at most/],
    ];
    for (const [header, reason] of cases) assert.match(String(tableOf(header)), reason);
  });

  it("has dots for nested members, and a backslash for a dot in a name", () => {
    assert.deepEqual(read("a.b,a.c.d,e\\.f\n1,2,3\n,,4\n"), [
      { a: { b: 1, c: { d: 2 } }, "e.f": 3 },
      { "e.f": 4 },
    ]);
    for (const name of ["a", "a.b", "a\\b", "a\\.b", "", ".", "\\"])
      assert.deepEqual(pathOfColumn(memberColumn(name).name), [name]);
  });

  it("has the same names as its export, whatever the schema declares", () => {
    const names = ["a", "a.b", "a\\.b", "a\\\\.b", "a\\b", "a\\\\b", "\\", "\\\\"];
    const resource = Object.fromEntries(names.map((name, index) => [name, index]));
    for (const declared of [...names.map((name) => [name]), names]) {
      const properties = Object.fromEntries(declared.map((name) => [name, { type: "integer" }]));
      assert.deepEqual(read(written([resource]), { ...open, schema: { properties } }), [resource]);
    }
  });

  it("takes its types from the schema", () => {
    const schema = {
      properties: {
        ...{ s: { type: "string" }, n: { type: "number" }, b: { type: "boolean" } },
        ...{ l: { type: "array" }, x: { type: ["number", "null"] } },
        ...{ t: { type: "string", format: "date-time" }, "p.q": { type: "integer" } },
        o: { type: "object", properties: { n: { type: "number" } } },
      },
    };
    const header = "s,n,b,l,x,t,p.q,o.n,other\n";
    const options = { schema, isInferring: false };
    assert.deepEqual(
      read(
        `${header}1,1,TRUE,"[1,""a""]",null,2026-03-28 12:00,5,7,9\n"",x,"""",,,,,"8",\n`,
        options,
      ),
      [
        {
          ...{ s: "1", n: 1, b: true, l: [1, "a"], x: null, t: "2026-03-28T12:00:00Z" },
          ...{ "p.q": 5, o: { n: 7 }, other: "9" },
        },
        { s: "", n: "x", b: '"', o: { n: 8 } },
      ],
    );
  });

  it("infers types where no schema declares them", () => {
    const cells = '1,-2.5e3,007,true,False,null,"null","1",2026-03-28,2026-03-28 10:00:01+02:00,x';
    const header = "a,b,c,d,e,f,g,h,i,j,k";
    assert.deepEqual(read(`${header}\n${cells}\n`), [
      {
        ...{ a: 1, b: -2500, c: "007", d: true, e: false, f: null, g: "null", h: "1" },
        ...{ i: "2026-03-28", j: "2026-03-28T10:00:01+02:00", k: "x" },
      },
    ]);
    const [texts] = read(`${header}\n${cells}\n`, { ...open, isInferring: false });
    assert.deepEqual(Object.values(texts as object).slice(0, 4), ["1", "-2.5e3", "007", "true"]);
    assert.deepEqual(read("a,b\n12345678901234567890,id\n"), [
      { a: "12345678901234567890", b: "id" },
    ]);
  });

  it("returns every value that an export writes", () => {
    const texts = fc.oneof(
      fc.string(),
      fc.constantFrom(
        ...["", "'", "''=1", "'[1]", "=1", "-5", "-", "+1", "@x", "\t", "\n", " ", "null", "true"],
        ...["FALSE", "1", "1e5", "[1]", '{"a":1}', "[", "'{}", '"', '""', ",", ";", "a\r\nb", "\\"],
        ...["2026-03-28 12:00", "2026-03-28", "12345678901234567890", "ä€👩‍🚀", "\ufeff", "\u0000"],
      ),
    );
    const values = fc.oneof(
      texts,
      fc.jsonValue({ maxDepth: 2 }).filter(isReadable),
      fc.double({ noNaN: true }),
    );
    const resources = fc.array(
      fc.dictionary(
        texts.filter((name) => name !== "id" && isReadable(name)),
        values,
        { maxKeys: 6 },
      ),
      { maxLength: 5 },
    );
    const seed = newSeed("CSV comes back");
    fc.assert(
      fc.property(resources, (all) => {
        const sent = all.map((each, index) => ({
          row: index,
          ...JSON.parse(JSON.stringify(each)),
        }));
        if (sent.length > 0) assert.deepEqual(read(written(sent)), sent);
      }),
      { numRuns: runs(300, 10_000), seed },
    );
  });
});
