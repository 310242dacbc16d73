// The values of one resource that figures are computed from: those of a whole resource, or those that SQL has read.

import { isObject, readTree, type Tree } from "../../lib/json/tree.ts";
import type { IndexedContent } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";

export interface RowValues {
  /** Which resource was created before another; known where `ColumnValues` has seqs. */
  readonly seq: number;
  at(field: string): unknown;
  /** The number at a field as it was written. */
  literalAt(field: string): string | undefined;
  /** Whether the number at a field may have more digits than a double keeps. */
  isLongAt(field: string): boolean;
}

const manyDigits = /\d[\d.]{15}/;

export class ResourceValues implements RowValues {
  readonly seq: number;
  readonly #content: IndexedContent;
  readonly #fields: string;

  constructor({ seq, resource }: Candidate, content: IndexedContent) {
    this.seq = seq;
    this.#content = content;
    this.#fields = resource.fields;
  }

  at(field: string): unknown {
    return this.#content.at(field);
  }

  literalAt(field: string): string | undefined {
    let tree: Tree | undefined = readTree(this.#fields);
    for (const name of field.split(".")) tree = isObject(tree) ? tree.members.get(name) : undefined;
    return typeof tree === "string" ? tree : undefined;
  }

  isLongAt(): boolean {
    return manyDigits.test(this.#fields);
  }
}

/** The values of one field in several resources. */
class Column {
  readonly values: readonly unknown[];
  readonly isLong: boolean;
  readonly #text: string;
  #literals: readonly unknown[] | undefined;

  /** Takes JSON values with commas between them. */
  constructor(text: string) {
    this.values = JSON.parse(`[${text}]`);
    this.isLong = manyDigits.test(text);
    this.#text = text;
  }

  literalAt(row: number): string | undefined {
    this.#literals ??= this.#split();
    const literal = this.#literals[row];
    return typeof literal === "string" ? literal : undefined;
  }

  #split(): readonly unknown[] {
    const pieces = this.#text.split(",");
    // Otherwise there are commas inside of values.
    if (pieces.length === this.values.length) return pieces;
    const tree = readTree(`[${this.#text}]`);
    return typeof tree === "object" && tree.kind === "array" ? tree.items : [];
  }
}

/** The values of several resources, one of which is the current one. */
export class ColumnValues implements RowValues {
  readonly #columns: ReadonlyMap<string, Column>;
  readonly #seqs: Column;
  /** The number of the current resource. */
  row = 0;

  constructor(fields: readonly string[], texts: readonly string[]) {
    this.#columns = new Map(fields.map((field, at) => [field, new Column(texts[at] ?? "")]));
    this.#seqs = new Column(texts[fields.length] ?? "");
  }

  get seq(): number {
    return Number(this.#seqs.values[this.row] ?? 0);
  }

  at(field: string): unknown {
    return this.#columns.get(field)?.values[this.row];
  }

  literalAt(field: string): string | undefined {
    return this.#columns.get(field)?.literalAt(this.row);
  }

  isLongAt(field: string): boolean {
    return this.#columns.get(field)?.isLong ?? false;
  }
}

/** Resources of which only the number matters. */
export const noValues: RowValues = new ColumnValues([], []);
