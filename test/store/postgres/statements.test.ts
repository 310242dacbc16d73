// Reads every SQL statement of the Postgres engine: a table with parts is asked for one part, by a parameter, and by the right index.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { createTables, tables } from "../../../src/store/postgres/tables.ts";

const folder = fileURLToPath(new URL("../../../src/store/postgres", import.meta.url));

/** Backups and checks go through all parts. */
const isOfAllParts = (file: string): boolean => /^(?:tables|snapshot|examine)\.ts$/.test(file);

/** These have no parts, or map names to parts. */
const withoutParts: readonly string[] = [
  ...["collections", "builds", "tokens", "token_uses", "store"],
];

/** Statements that look at all parts, off the request path or for a quota of all files. */
const exceptions: readonly string[] = [
  "SELECT part FROM deleted_parts ORDER BY part",
  `SELECT coalesce(sum(bytes), 0)::bigint FROM files WHERE part NOT IN (SELECT part FROM deleted_parts) \${nested}`,
];

/** Migrations, and commands that copy a store, run while nothing else writes. */
const isTool = (file: string): boolean => /^(?:schema|loader|replica)\.ts$/.test(file);

const undistributed =
  /\b(?:CREATE|ALTER|DROP|TRUNCATE|LOCK TABLE|nextval|currval|lastval|pg_(?:try_)?advisory\w*)\b/i;

/** Shows whether a full disk has room again, and is rolled back. */
const probe = "CREATE TABLE room AS";

const partTables = Object.keys(tables).filter((name) => !withoutParts.includes(name));

/** A table is named in the text, or by a parameter of the function. */
const mention = new RegExp(
  String.raw`\b(?:FROM|JOIN|INTO|UPDATE|USING)\s+(?:${partTables.join("|")}|\$\{sql\(table\)\})(?!\w)`,
  "g",
);
const comparison =
  /\bpart(?: \+ 0)? = \$\{part\}::bigint|(?:SELECT|VALUES \()\s*\$\{part\}::bigint/g;

/** The tables with more than one index that begins with the part, or has it. */
const manyIndexes = ["resources", "tombstones", "former_states", "idempotency_keys", "files"];

/** Ways to find rows for which the planner may read the whole part by another index, while tables are small. */
const ambiguous: readonly RegExp[] = [
  /\bpart = \$\{part\}::bigint AND ctid = ANY/,
  /\bpart = \$\{part\}::bigint[^()]* = ANY \(\$/,
  new RegExp(String.raw`\bFROM (?:${manyIndexes.join("|")})\s+WHERE [^()]* = [\w.]+\s+LIMIT 1\b`),
];

interface FoundStatement {
  readonly file: string;
  readonly text: string;
}

/** Returns the templates of a file that are tagged with `sql`, nested ones too. */
function statementsIn(file: string): readonly FoundStatement[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(folder, file), "utf8"),
    ts.ScriptTarget.Latest,
  );
  const found: FoundStatement[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText(source) === "sql")
      found.push({ file, text: ownText(node.template, source) });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Returns the text without nested templates, which are checked by themselves. */
function ownText(template: ts.TemplateLiteral, source: ts.SourceFile): string {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return template.text;
  const spans = template.templateSpans.map(({ expression, literal }) => {
    const text = expression.getText(source);
    return `\${${text.includes("`") ? "nested" : text}}${literal.text}`;
  });
  return template.head.text + spans.join("");
}

function complaintsAbout(statements: readonly FoundStatement[]): readonly string[] {
  return statements.flatMap(({ file, text }) => {
    const mentions = text.match(mention)?.length ?? 0;
    const comparisons = text.match(comparison)?.length ?? 0;
    const isException = exceptions.includes(text.trim().replace(/\s+/g, " "));
    return mentions <= comparisons || isException ? [] : [`${file}: ${text}`];
  });
}

describe("every SQL statement of the Postgres engine", () => {
  const files = readdirSync(folder).filter((file) => !isOfAllParts(file));
  const statements = files.flatMap(statementsIn);

  it("compares the part with a parameter wherever a table has parts", () => {
    const withParts = statements.filter(({ text }) => text.match(mention));
    assert.ok(withParts.length >= 50, `${withParts.length} statements`);
    assert.deepEqual(complaintsAbout(statements), []);
  });

  it("looks up rows so that one index will do", () => {
    const found = statements.filter(({ text }) => ambiguous.some((way) => way.test(text)));
    assert.deepEqual(found, []);
  });

  it("needs nothing that a distributed database lacks, and no DDL", () => {
    const found = statements.filter(
      ({ file, text }) => !isTool(file) && undistributed.test(text) && !text.includes(probe),
    );
    assert.deepEqual(found, []);
    assert.doesNotMatch(createTables, /SERIAL|IDENTITY|GENERATED|SEQUENCE|REFERENCES|TRIGGER/i);
    const keys = partTables.flatMap((name) => [
      ...tables[name as keyof typeof tables].matchAll(
        /(?:PRIMARY KEY|UNIQUE) ?\((\w+)|(\w+) \w+ PRIMARY KEY/g,
      ),
    ]);
    assert.ok(keys.length > partTables.length);
    for (const [text, first, own] of keys) assert.equal(first ?? own, "part", text);
  });

  it("is found when it does not", () => {
    const parameter = (name: string) => `\${${name}}`;
    const bad = [
      "SELECT id FROM resources",
      `SELECT id FROM resources WHERE part = (SELECT part FROM collections WHERE name = ${parameter("name")})`,
      `SELECT id FROM resources JOIN heads USING (part) WHERE heads.part = ${parameter("part")}::bigint`,
      `DELETE FROM ${parameter("sql(table)")} WHERE seq = ${parameter("seq")}::bigint`,
      `INSERT INTO words (part, word) SELECT part, word FROM unnest(${parameter("parts")})`,
    ];
    for (const text of bad) assert.equal(complaintsAbout([{ file: "", text }]).length, 1, text);
    const isPart = `part = ${parameter("part")}::bigint`;
    const ambiguousTexts = [
      `DELETE FROM words WHERE ${isPart} AND ctid = ANY (ARRAY(${parameter("addresses")}))`,
      `DELETE FROM resources WHERE ${isPart} AND seq = ANY (${parameter("seqs")}::bigint[])`,
      `SELECT id FROM resources WHERE ${isPart} AND seq = wanted.seq LIMIT 1`,
    ];
    for (const text of ambiguousTexts)
      assert.ok(
        ambiguous.some((way) => way.test(text)),
        text,
      );
  });
});
