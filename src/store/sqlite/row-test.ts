// Tests rows in SQL, so that those that do not match are never read.

import type { RowTest, TestedRows } from "../core/filter-reads.ts";
import { type Parameter, Parameters } from "../core/parameters.ts";
import { rowClass, textsAt } from "../core/sql-verdict.ts";
import type { Dialect } from "../core/verdict.ts";
import type { Connection, Query as Statement } from "./connection.ts";

/** Nothing stops a running statement, so each one tests few bytes. */
const maxBytes = 2 * 1024 * 1024;
const maxStatements = 16;

type Range = readonly [rows: number, end: number, bytes: number];
type Tested = readonly [counted: number, seqs: string | null, ...values: (string | null)[]];

export class RowTester {
  readonly #connection: Connection;
  readonly #ranges: Readonly<Record<"up" | "down", Statement<Range>>>;
  readonly #statements = new Map<string, Statement<Tested>>();

  constructor(connection: Connection) {
    this.#connection = connection;
    const rangeOf = (compare: string, end: string, order: string) =>
      connection.query<Range>(`
        SELECT count(*), coalesce(${end}(seq), 0), coalesce(sum(bytes), 0) FROM (
          SELECT seq, octet_length(fields) AS bytes FROM resources
          WHERE part = ? AND seq ${compare} ? ORDER BY ${order} LIMIT ?
        )`);
    this.#ranges = { up: rangeOf(">", "max", "seq"), down: rangeOf("<", "min", "seq DESC") };
  }

  test(part: number, test: RowTest): TestedRows {
    const { isNewestFirst, after = isNewestFirst ? Number.MAX_SAFE_INTEGER : 0 } = test;
    const [tested, last] = this.#rangeAfter(part, after, test);
    if (tested === 0) return { tested, last, counted: 0, seqs: [], values: [] };
    const [low, high] = isNewestFirst ? [last - 1, after - 1] : [after, last];
    const dialect = new SqliteDialect();
    const texts = textsAt(test.fields ?? [], dialect);
    const range = [part, low, high, tested] as const;
    const { text, values } = dialect.statement(rowClass(test, dialect), texts, range);
    const [counted = 0, list, ...found] = this.#statement(text).one(...values) ?? [];
    const seqs: number[] = JSON.parse(`[${list ?? ""}]`);
    return {
      ...{ tested, last, counted },
      seqs: isNewestFirst ? seqs.reverse() : seqs,
      values: found.map((each) => each ?? ""),
    };
  }

  /** Returns the first rows with few bytes together, at least one. */
  #rangeAfter(part: number, after: number, { isNewestFirst, limit }: RowTest): Range {
    const ranges = this.#ranges[isNewestFirst ? "down" : "up"];
    for (let rows = limit; ; rows = Math.ceil(rows / 4)) {
      const range = ranges.one(part, after, rows) ?? [0, after, 0];
      if (range[2] <= maxBytes || rows === 1) return range;
    }
  }

  #statement(text: string): Statement<Tested> {
    const cached = this.#statements.get(text);
    if (cached !== undefined) return cached;
    if (this.#statements.size === maxStatements) this.#statements.clear();
    const statement = this.#connection.query<Tested>(text);
    this.#statements.set(text, statement);
    return statement;
  }
}

class SqliteDialect implements Dialect {
  readonly #parameters = new Parameters();
  readonly #columns = ["seq"];
  readonly #known = new Map<string, string>();

  /** The limits keep SQLite from computing each value several times. */
  statement(
    rowClass: string,
    texts: readonly string[],
    [part, low, high, limit]: readonly [number, number, number, number],
  ) {
    const values = texts.map(
      (text) => `, group_concat(coalesce(${text}, 'null')) FILTER (WHERE class = 1)`,
    );
    const text = `
      SELECT count(*) FILTER (WHERE class = 1), group_concat(seq) FILTER (WHERE class = 2)
        ${values.join("")}
      FROM (
        SELECT ${["seq", ...texts].join(", ")}, ${rowClass} AS class
        FROM (
          SELECT ${this.#columns.join(", ")} FROM resources
          WHERE part = ${this.bind(part)} AND seq > ${this.bind(low)} AND seq <= ${this.bind(high)}
          ORDER BY seq LIMIT ${this.bind(limit)}
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
    this.#columns.push(`fields -> ${this.bind(path)} AS ${column}`);
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
