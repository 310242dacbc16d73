// Tests rows in SQL, so that those that do not match are never read.

import { RecentMap } from "../../lib/recent-map.ts";
import type { RowTest, TestedRows } from "../core/filter-reads.ts";
import { type Parameter, Parameters } from "../core/parameters.ts";
import { rowClass, textsAt } from "../core/sql-verdict.ts";
import type { Dialect } from "../core/verdict.ts";
import type { CachedCollection } from "./collections.ts";
import type { Connection, PreparedQuery } from "./connection.ts";

/** Nothing stops a running statement, so each one tests few bytes if resources have about the same size. */
const maxBytes = 2 * 1024 * 1024;
/** The limit of what it parses, so that it ends soon if they do not. Larger resources are left to the checker. */
const maxParsedBytes = 8 * maxBytes;
const maxStatements = 16;

type Tested = readonly [
  tested: number,
  last: number | null,
  counted: number,
  seqs: string | null,
  ...values: (string | null)[],
];

export class RowTester {
  readonly #connection: Connection;
  readonly #statements = new RecentMap<string, PreparedQuery<Tested>>(maxStatements);

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  test({ part, head }: CachedCollection, test: RowTest): TestedRows {
    const { isNewestFirst, after = isNewestFirst ? Number.MAX_SAFE_INTEGER : 0 } = test;
    const fitting = Math.ceil((maxBytes * head.total) / Math.max(1, head.bytes));
    const limit = Math.max(1, Math.min(test.limit, fitting));
    const dialect = new SqliteDialect(Math.floor(maxParsedBytes / limit));
    const texts = textsAt(test.fields ?? [], dialect);
    const range = { ...test, part, after, limit };
    const { text, values } = dialect.statement(rowClass(test, dialect), texts, range);
    const row = this.#statement(text).one(...values) ?? nothing;
    const [tested, last, counted, seqs, ...found] = row;
    return {
      tested,
      last: last ?? after,
      counted,
      seqs: JSON.parse(`[${seqs ?? ""}]`),
      values: found.map((each) => each ?? ""),
    };
  }

  #statement(text: string): PreparedQuery<Tested> {
    return this.#statements.getOrAdd(text, () => this.#connection.query<Tested>(text));
  }
}

const nothing: Tested = [0, null, 0, null];

type TestedRange = Pick<RowTest, "limit" | "isNewestFirst" | "hasSeqs"> & {
  readonly part: number;
  readonly after: number;
};

class SqliteDialect implements Dialect {
  readonly #parameters = new Parameters();
  readonly #columns = ["seq"];
  readonly #known = new Map<string, string>();
  readonly #maxBytes: number;

  /** Resources with more bytes are not read. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The limits keep SQLite from computing each value several times. */
  statement(
    rowClass: string,
    texts: readonly string[],
    { part, after, limit, isNewestFirst, hasSeqs }: TestedRange,
  ) {
    const values = [...texts, ...(hasSeqs ? ["seq"] : [])].map(
      (text) => `, group_concat(coalesce(${text}, 'null')) FILTER (WHERE class = 1)`,
    );
    const [last, beyond, order] = isNewestFirst ? ["min", "<", "seq DESC"] : ["max", ">", "seq"];
    const text = `
      SELECT count(*), ${last}(seq), count(*) FILTER (WHERE class = 1),
        group_concat(seq) FILTER (WHERE class = 2) ${values.join("")}
      FROM (
        SELECT ${["seq", ...texts].join(", ")}, ${rowClass} AS class
        FROM (
          SELECT ${this.#columns.join(", ")} FROM resources
          WHERE part = ${this.bind(part)} AND seq ${beyond} ${this.bind(after)}
          ORDER BY ${order} LIMIT ${this.bind(limit)}
        ) LIMIT ${this.bind(limit)}
      )`;
    return this.#parameters.finish(text, () => "?");
  }

  valueAt(names: readonly string[]): string {
    const path = `$${names.map((name) => `."${name}"`).join("")}`;
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const column = `value${this.#columns.length}`;
    this.#known.set(path, column);
    const isSmall = `octet_length(fields) <= ${this.bind(this.#maxBytes)}`;
    const value = `CASE WHEN ${isSmall} THEN fields -> ${this.bind(path)} ELSE '?' END`;
    this.#columns.push(`${value} AS ${column}`);
    return column;
  }

  timeAt(column: "created" | "updated"): string {
    this.#columns.push(column);
    return column;
  }

  bind(value: Parameter): string {
    return this.#parameters.bind(value);
  }

  numberIn(text: string): string {
    return `CAST(${text} AS REAL)`;
  }

  find(text: string, part: string): string {
    return `instr(${text}, ${part})`;
  }
}
