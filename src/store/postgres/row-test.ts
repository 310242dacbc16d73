// Tests rows in SQL, so that those that do not match are never sent.

import type { RowTest, TestedRows } from "../core/filter-reads.ts";
import { type Parameter, Parameters } from "../core/parameters.ts";
import { rowClass, textsAt } from "../core/sql-verdict.ts";
import type { Dialect } from "../core/verdict.ts";
import { type NamedRow, rows, type Sql } from "./connection.ts";

type Tested = readonly [
  tested: number,
  last: number | null,
  counted: number,
  seqs: string,
  ...values: string[],
];

export async function testRows(sql: Sql, part: number, test: RowTest): Promise<TestedRows> {
  const { isNewestFirst, after = isNewestFirst ? Number.MAX_SAFE_INTEGER : 0 } = test;
  const dialect = new PostgresDialect();
  const texts = textsAt(test.fields ?? [], dialect);
  const range = { ...test, part, after };
  const { text, values } = dialect.statement(rowClass(test, dialect), texts, range);
  // Each shape of a query has a text of its own, so that the statement is not kept.
  const statement = sql.unsafe<NamedRow[]>(text, [...values], { prepare: false });
  const [[tested, last, counted, seqs, ...found] = nothing] = await rows<Tested>(statement);
  return { tested, last: last ?? after, counted, seqs: JSON.parse(`[${seqs}]`), values: found };
}

const nothing: Tested = [0, null, 0, ""];

type TestedRange = Pick<RowTest, "limit" | "isNewestFirst" | "hasSeqs"> & {
  readonly part: number;
  readonly after: number;
};

class PostgresDialect implements Dialect {
  readonly #parameters = new Parameters();
  /** The columns of two queries, one inside the other. */
  readonly #found = ["seq", "doc"];
  readonly #values = ["seq"];
  readonly #known = new Map<string, string>();

  /** `OFFSET 0` keeps the planner from computing an expression several times. */
  statement(
    rowClass: string,
    texts: readonly string[],
    { part, after, limit, isNewestFirst, hasSeqs }: TestedRange,
  ) {
    const values = [...texts, ...(hasSeqs ? ["seq::text"] : [])].map(
      (text) =>
        `, coalesce(string_agg(coalesce(${text}, 'null'), ',') FILTER (WHERE class = 1), '')`,
    );
    const order = isNewestFirst ? "seq DESC" : "seq";
    const beyond = `seq ${isNewestFirst ? "<" : ">"} ${this.bind(after)}`;
    const text = `
      SELECT count(*), ${isNewestFirst ? "min" : "max"}(seq), count(*) FILTER (WHERE class = 1),
        coalesce(string_agg(seq::text, ',' ORDER BY ${order}) FILTER (WHERE class = 2), '')
        ${values.join("")}
      FROM (
        SELECT ${["seq", ...texts].join(", ")}, ${rowClass} AS class FROM (
          SELECT ${this.#values.join(", ")} FROM (
            SELECT ${this.#found.join(", ")} FROM (
              SELECT seq, created::text, updated::text, fields || '' AS doc FROM resources
              WHERE part = ${this.bind(part)}::bigint AND ${beyond}::bigint
              ORDER BY ${order} LIMIT ${this.bind(limit)}::bigint
            ) AS row OFFSET 0
          ) AS row OFFSET 0
        ) AS row OFFSET 0
      ) AS row`;
    return this.#parameters.finish(text, (number, value) =>
      typeof value === "string" ? `$${number}::text` : `$${number}::float8`,
    );
  }

  valueAt(path: readonly string[]): string {
    const known = this.#known.get(path.join("."));
    if (known !== undefined) return known;
    const number = this.#values.length;
    this.#known.set(path.join("."), `value${number}`);
    const parsed = this.#parsed(path);
    const [name] = path.length === 1 ? path : [];
    if (name === undefined) this.#values.push(`${parsed} COLLATE "C" AS value${number}`);
    else {
      this.#found.push(`${foundIn(this.bind(`"${name}":`))} AS found${number}`);
      this.#values.push(`${valueIn(`found${number}`, parsed)} COLLATE "C" AS value${number}`);
    }
    return `value${number}`;
  }

  timeAt(column: "created" | "updated"): string {
    this.#found.push(column);
    this.#values.push(column);
    return column;
  }

  bind(value: Parameter): string {
    return this.#parameters.bind(value);
  }

  numberIn(text: string): string {
    return `${text}::float8`;
  }

  find(text: string, part: string): string {
    return `strpos(${text}, ${part})`;
  }

  /** Postgres does not read documents with an escaped NUL. */
  #parsed(path: readonly string[]): string {
    const names = path.map((name) => ` -> ${this.bind(name)}`).join("");
    return `CASE WHEN strpos(doc, '\\u0000') > 0 THEN '?' ELSE (doc::json${names})::text END`;
  }
}

/**
 * Finding the member in the text takes a fraction of the time of parsing it. Without escapes the quoted
 * name and a colon are always the name of a member, and it is in no inner object if none begins before it.
 * `split_part` is faster than `strpos`, which counts characters.
 */
function foundIn(member: string): string {
  const before = `split_part(doc, ${member}, 1)`;
  return `
  CASE WHEN strpos(doc, '\\') > 0 THEN NULL
    WHEN ${before} = '{' || split_part(${before}, '{', 2) THEN split_part(doc, ${member}, 2)
    WHEN ${before} = doc THEN '' END COLLATE "C"`;
}

const valueIn = (found: string, parsed: string): string => `
  CASE WHEN ${found} = '' THEN NULL
    WHEN ${found} < '#' THEN '"' || split_part(${found}, '"', 2) || '"'
    WHEN ${found} < '[' OR (${found} > 'a' AND ${found} < '{')
    THEN rtrim(split_part(${found}, ',', 1), '}') ELSE ${parsed} END`;
