// Changes many resources, in batches of a hundred. What is rejected is left out and told, and the rest goes on.

import { signal } from "@preact/signals";
import { fetchJson, send } from "../api/client.ts";
import { untilOnline } from "../api/connection.ts";
import type { JsonObject } from "../api/json.ts";
import { asProblem, Problem, reasonOf } from "../api/problem.ts";
import { reportChange, resourceUrl } from "../state/changes.ts";
import { formerValues, type Results, type WayBack, waysBack } from "./bulk-undo.ts";
import type { Row } from "./columns.ts";

const batchSize = 100;
/** When so many are rejected, something else is wrong. */
const mostFailures = 1_000;

/** A resource to change, as it was seen. */
export type Target = Pick<Row, "id" | "_etag">;

export interface Failure {
  readonly collection: string;
  readonly target: Target;
  readonly detail: string;
}

export interface RunningBatch {
  readonly verb: "Reading" | "Changing" | "Deleting";
  readonly done: number;
  /** Undefined when nobody has counted them. */
  readonly total: number | undefined;
  readonly cancel: () => void;
}

/** While many are read or changed. */
export const batchProgress = signal<RunningBatch | undefined>(undefined);

/** What was rejected, until someone has read it. */
export const batchFailures = signal<readonly Failure[]>([]);

export interface Change {
  readonly collection: string;
  readonly verb: "Changing" | "Deleting";
  readonly operation: (target: Target) => JsonObject;
  /** The field that is changed, where the change can be undone. */
  readonly field?: string;
}

/** Sets a field, whatever else someone has changed; null removes it. */
export const patchOf = (collection: string, body: JsonObject): Change => ({
  ...{ collection, verb: "Changing", field: Object.keys(body)[0] ?? "" },
  operation: ({ id }) => ({
    ...{ method: "PATCH", path: resourceUrl(collection, id) },
    ...{ body, ifMatch: "*" },
  }),
});

/** Deletes what the person has seen, and nothing newer. */
export const deletionOf = (collection: string): Change => ({
  ...{ collection, verb: "Deleting" },
  operation: ({ id, _etag }) => ({
    ...{ method: "DELETE", path: resourceUrl(collection, id) },
    ifMatch: _etag,
  }),
});

export interface Outcome {
  readonly changed: number;
  readonly total: number;
  readonly isCancelled: boolean;
  /** Why it ended early. */
  readonly error?: unknown;
  /** Writes the former values back. */
  readonly undo?: () => Promise<void>;
}

let last: Promise<unknown> = Promise.resolve();

/** One after the other, so that there is one progress to show. */
export function runBatches(targets: readonly Target[], change: Change): Promise<Outcome> {
  const turn = last.then(() => run(targets, change));
  last = turn;
  return turn;
}

async function run(targets: readonly Target[], change: Change): Promise<Outcome> {
  const total = targets.length;
  const abort = new AbortController();
  const cancel = (): void => abort.abort();
  const failures: Failure[] = [];
  const ways: WayBack[] = [];
  let done = 0;
  const outcome = (error?: unknown): Outcome => ({
    ...{ changed: done - failures.length, total, isCancelled: abort.signal.aborted },
    ...(error !== undefined && { error }),
    ...(ways.length > 0 && { undo: () => goBack(change.collection, ways) }),
  });
  try {
    while (done < total && !abort.signal.aborted && failures.length < mostFailures) {
      if (total > batchSize) batchProgress.value = { verb: change.verb, done, total, cancel };
      const some = targets.slice(done, done + batchSize);
      failures.push(...(await runBatch(some, change, abort.signal, ways)));
      done += some.length;
    }
    return outcome(done < total && !abort.signal.aborted ? tooManyFailures() : undefined);
  } catch (error) {
    return outcome(error);
  } finally {
    batchProgress.value = undefined;
    batchFailures.value = [...batchFailures.peek(), ...failures];
    reportChange();
  }
}

/** Deletes without batches: the browser sends requests without a body also when the page is left. */
export async function deleteEach(collection: string, targets: readonly Target[]): Promise<Outcome> {
  const total = targets.length;
  const answers = await Promise.all(
    targets.map((target) => deleteOne(collection, target).catch(asProblem)),
  );
  const failures = targets.flatMap((target, index): readonly Failure[] => {
    const problem = answers[index];
    if (problem === undefined || problem.status === 404) return [];
    return [{ collection, target, detail: reasonOf(problem) }];
  });
  batchFailures.value = [...batchFailures.peek(), ...failures];
  reportChange();
  return { changed: total - failures.length, total, isCancelled: false };
}

async function deleteOne(collection: string, { id, _etag }: Target): Promise<undefined> {
  const headers = { "If-Match": _etag };
  await send({ method: "DELETE", path: resourceUrl(collection, id), headers });
}

// A run that is under way would end in the middle.
addEventListener("beforeunload", (event) => {
  if (batchProgress.peek() !== undefined) event.preventDefault();
});

/** Each with the ETag of the change, so that what someone else has changed since then stays. */
async function goBack(collection: string, ways: readonly WayBack[]): Promise<void> {
  const operations = new Map<Target, JsonObject>(ways.map((way) => [way.target, way.operation]));
  const operation = (target: Target): JsonObject => operations.get(target) ?? {};
  const { changed, total, error } = await runBatches([...operations.keys()], {
    ...{ collection, verb: "Changing", operation },
  });
  if (error !== undefined) throw error;
  if (changed < total) throw new Error(`Undone for ${changed} of ${total} resources.`);
}

const tooManyFailures = (): Error => new Error(`More than ${mostFailures} could not be changed.`);

/** A batch happens wholly or not at all, so it is sent again without what was rejected. */
async function runBatch(
  targets: readonly Target[],
  change: Change,
  signal: AbortSignal,
  ways: WayBack[],
): Promise<readonly Failure[]> {
  const failures: Failure[] = [];
  const former = await formerValues(targets, change);
  let rest = targets;
  while (rest.length > 0) {
    const answer = await sendBatch(rest, change, signal);
    if (!("target" in answer)) {
      ways.push(...waysBack(answer.results, former, change));
      break;
    }
    const { target, detail, isGone } = answer;
    rest = rest.filter((one) => one !== target);
    const isDone = isGone && change.verb === "Deleting";
    if (!isDone) failures.push({ collection: change.collection, target, detail });
  }
  return failures;
}

interface RowRejection {
  readonly target: Target;
  readonly detail: string;
  readonly isGone: boolean;
}

/** After a lost answer it is sent again: setting a field twice, and deleting what is gone, changes nothing. */
async function sendBatch(
  targets: readonly Target[],
  { operation }: Change,
  signal: AbortSignal,
): Promise<RowRejection | Results> {
  const request = {
    method: "POST",
    path: "/-/batch",
    body: { operations: targets.map(operation) },
  };
  for (;;) {
    try {
      return await fetchJson<Results>(request);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const rejected = rejectionIn(error, targets);
      if (rejected !== undefined) return rejected;
      if (error.status !== 0 && error.status !== 503) throw error;
      await untilOnline(signal);
    }
  }
}

function rejectionIn(problem: Problem, targets: readonly Target[]): RowRejection | undefined {
  const [{ pointer = "", detail } = { detail: "" }] = problem.errors;
  const [, index] = /^\/operations\/(\d+)/.exec(pointer) ?? [];
  const target = index === undefined ? undefined : targets[Number(index)];
  return target && { target, detail, isGone: problem.kind === "not-found" };
}
