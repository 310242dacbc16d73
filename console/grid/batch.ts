// Changes many resources, in batches of a hundred. What fails is left out and told, and the rest goes on.

import { signal } from "@preact/signals";
import { send } from "../api/client.ts";
import type { JsonObject } from "../api/json.ts";
import { Problem } from "../api/problem.ts";
import { reportChange, resourceUrl } from "../state/changes.ts";
import type { Row } from "./columns.ts";

const batchSize = 100;

export interface Failure {
  readonly row: Row;
  readonly detail: string;
}

/** While several batches run. */
export const batchProgress = signal<{ readonly done: number; readonly total: number } | undefined>(
  undefined,
);

/** What was rejected, until someone has read it. */
export const batchFailures = signal<readonly Failure[]>([]);

type Operation = (row: Row) => JsonObject;

/** Sets a field, whatever else someone has changed; null removes it. */
export const patchOperation =
  (collection: string, body: JsonObject): Operation =>
  ({ id }) => ({ method: "PATCH", path: resourceUrl(collection, id), body, ifMatch: "*" });

/** Deletes what the person has seen, and nothing newer. */
export const deleteOperation =
  (collection: string): Operation =>
  ({ id, _etag }) => ({ method: "DELETE", path: resourceUrl(collection, id), ifMatch: _etag });

/** Returns how many it has changed. */
export async function runBatches(rows: readonly Row[], operation: Operation): Promise<number> {
  const failures: Failure[] = [];
  try {
    for (let done = 0; done < rows.length; done += batchSize) {
      if (rows.length > batchSize) batchProgress.value = { done, total: rows.length };
      failures.push(...(await runBatch(rows.slice(done, done + batchSize), operation)));
    }
  } finally {
    batchProgress.value = undefined;
    batchFailures.value = failures;
    reportChange();
  }
  return rows.length - failures.length;
}

/** A batch happens wholly or not at all, so it is sent again without what was rejected. */
async function runBatch(rows: readonly Row[], operation: Operation): Promise<readonly Failure[]> {
  if (rows.length === 0) return [];
  try {
    const operations = rows.map(operation);
    await send({ method: "POST", path: "/-/batch", body: { operations } });
    return [];
  } catch (error) {
    const rejected = rejectedIn(error, rows);
    if (rejected.size === 0) throw error;
    const failed = [...rejected].map(([row, detail]) => ({ row, detail }));
    const rest = rows.filter((row) => !rejected.has(row));
    return [...failed, ...(await runBatch(rest, operation))];
  }
}

function rejectedIn(error: unknown, rows: readonly Row[]): ReadonlyMap<Row, string> {
  const errors = error instanceof Problem ? error.errors : [];
  return new Map(
    errors.flatMap(({ pointer, detail }) => {
      const [, index] = /^\/operations\/(\d+)/.exec(pointer ?? "") ?? [];
      const row = index === undefined ? undefined : rows[Number(index)];
      return row === undefined ? [] : [[row, detail] as const];
    }),
  );
}
