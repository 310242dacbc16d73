// Writes the groups of an aggregation as JSON.

import type { Aggregation, Groups } from "../model/query/aggregate.ts";

/** The groups of a page. */
export interface ListedGroups {
  /** The names of the members of each group. */
  readonly names: readonly string[];
  /** The groups as JSON objects. */
  readonly texts: readonly string[];
}

export function groupsOf({ groupings, aggregates }: Aggregation, { rows }: Groups): ListedGroups {
  const names = [...groupings, ...aggregates].map(({ name }) => name);
  const members = names.map((name) => `${JSON.stringify(name)}:`);
  const texts = rows.map(
    (row) => `{${row.map((text, index) => `${members[index]}${text}`).join(",")}}`,
  );
  return { names, texts };
}
