// Sends pending writes in their order, each as a batch with its key, and stores what comes of it.

import type { Client } from "../index.ts";
import { NoAnswer, Problem } from "../problem.ts";
import { draftOf, isStateOf } from "../states.ts";
import { etagOf } from "../tags.ts";
import type { Identified } from "../types.ts";
import { type Journal, rowRecord } from "./journal.ts";
import {
  applied,
  type PendingChange,
  pathOf,
  type Row,
  rowKey,
  type State,
  type ToldProblem,
  tagOf,
  type Write,
  writeKey,
} from "./state.ts";
import type { StoredRecord } from "./storage.ts";
import { newId } from "./writes.ts";

/** How long a server keeps keys at least. */
const keyLifeMs = 24 * 3_600_000;
/** How many own states before a row are known. */
const mostTags = 16;

/** The first that can be sent: no write to the same resource waits before it. */
export function nextWrite({ writes }: State): Write | undefined {
  const blocked = new Set<string>();
  return writes.find((write) => {
    const paths = write.changes.map(pathOf);
    if (!write.refusal && !paths.some((path) => blocked.has(path))) return true;
    for (const path of paths) blocked.add(path);
    return false;
  });
}

export class Queue {
  readonly #client: Client;
  readonly #journal: Journal;
  readonly #signal: AbortSignal;

  constructor(client: Client, journal: Journal, signal: AbortSignal) {
    this.#client = client;
    this.#journal = journal;
    this.#signal = signal;
  }

  /** Throws a `Problem` that passes; what is refused stays as a conflict. */
  async send(): Promise<void> {
    const { state } = this.#journal;
    for (let write = nextWrite(state); write; write = nextWrite(state)) await this.#sendOne(write);
  }

  async #sendOne(write: Write): Promise<void> {
    const { state } = this.#journal;
    const operations = write.changes.map((_, at) => operationOf(state, write, at));
    const headers = { "Idempotency-Key": `"${write.key}"` };
    const signal = this.#signal;
    const answer = await attempt(signal, () => this.#client.batch(operations, { headers, signal }));
    if (!(answer instanceof Problem)) await this.#store(write, answer as readonly Identified[]);
    else if (isPassing(answer)) await this.#keep(write, answer);
    else if (answer.status === 410) await this.#storeCurrent(write);
    else await this.#refuse(write, answer);
  }

  /** It was done: the copies show what the server has answered. */
  #store(write: Write, results: readonly (Identified | undefined)[]): Promise<void> {
    return this.#end(write, (state, change) => {
      const last = write.changes.findLastIndex((one) => pathOf(one) === pathOf(change));
      const resource = results[last];
      const before = state.row(change);
      const sent = conditionOf(state, change);
      const was = [...(before?.etag === sent ? (before?.was ?? []) : []), ...(sent ? [sent] : [])];
      return resource && { resource, was: [...was, tagOf(write)].slice(-mostTags) };
    });
  }

  /** It was done before, and the answer is lost. */
  async #storeCurrent(write: Write): Promise<void> {
    const found = new Map<string, Identified | undefined>();
    for (const change of write.changes)
      if (!found.has(pathOf(change))) found.set(pathOf(change), await this.#read(change));
    await this.#end(write, (_, change) => {
      const resource = found.get(pathOf(change));
      return (
        resource && { resource, was: isOutcome(write, change, resource) ? [tagOf(write)] : [] }
      );
    });
  }

  /** Removes a write, and saves each of its resources; those without a state are gone. */
  #end(
    write: Write,
    outcome: (state: State, change: PendingChange) => Pick<Row, "resource" | "was"> | undefined,
  ): Promise<void> {
    return this.#journal.commit((state) => [
      [writeKey(write), undefined],
      ...firstOfEach(write.changes).map((change): StoredRecord => {
        const after = outcome(state, change);
        if (!after) return [rowKey(change), undefined];
        return rowRecord(state, rowOf(state, change, after), new Set([write]));
      }),
    ]);
  }

  /** No answer, or one that passes: it is sent again, with the same key. */
  async #keep(write: Write, problem: Problem): Promise<never> {
    const { triedAt, isWithOtherToken } = write;
    const isDenied = problem.status === 401;
    if (isDenied ? triedAt !== undefined && !isWithOtherToken : triedAt === undefined) {
      const news = isDenied ? { isWithOtherToken: true } : { triedAt: Date.now() };
      await this.#journal.commit(() => [[writeKey(write), { ...write, ...news }]]);
    }
    throw problem;
  }

  async #refuse(write: Write, problem: Problem): Promise<void> {
    const at = Number(/^\/operations\/(\d+)/.exec(problem.errors[0]?.pointer ?? "")?.[1] ?? 0);
    const change = write.changes[at] ?? (write.changes[0] as PendingChange);
    const current = await this.#read(change);
    if (isDone(write, change, problem, current)) return this.#storeCurrent(write);
    if (change.kind === "remove" && problem.status === 404) return this.#leaveOut(write, at);
    await this.#journal.commit((state) => [
      [writeKey(write), { ...write, refusal: { at, problem: toldProblem(problem) } }],
      current
        ? [rowKey(change), rowOf(state, change, { resource: current, was: [] })]
        : [rowKey(change), undefined],
    ]);
  }

  /** Somebody else has removed it. */
  #leaveOut(write: Write, at: number): Promise<void> {
    const changes = write.changes.toSpliced(at, 1);
    if (changes.length === 0) return this.#storeCurrent(write);
    return this.#journal.commit(() => [[writeKey(write), { ...write, changes, key: newId() }]]);
  }

  /** The state on the server; the last known one, where it may not be read. */
  async #read(change: PendingChange): Promise<Identified | undefined> {
    const signal = this.#signal;
    const { collection, id } = change;
    const found = await attempt(signal, () =>
      this.#client.collection(collection).find(id, { fields: ["*"], signal }),
    );
    if (!(found instanceof Problem)) return found;
    if (isPassing(found)) throw found;
    return this.#journal.state.row(change)?.resource;
  }
}

/** The first change of each resource. */
const firstOfEach = (changes: readonly PendingChange[]): readonly PendingChange[] =>
  changes.filter((change, at) => changes.findIndex((one) => pathOf(one) === pathOf(change)) === at);

/** A new resource is in all copies of its collection, until they are read. */
function rowOf(state: State, change: PendingChange, after: Pick<Row, "resource" | "was">): Row {
  const { collection, kind } = change;
  const before = state.row(change);
  const guessed = [...state.copies].flatMap(([key, copy]) =>
    kind === "create" && copy.collection === collection ? [[key, 0] as const] : [],
  );
  const etag = etagOf(after.resource) ?? "";
  const isSame = before?.etag === etag && after.was.length === 0;
  return {
    ...{ collection, etag, ...after, in: before?.in ?? Object.fromEntries(guessed) },
    ...(isSame && { was: before.was }),
  };
}

const methods = { create: "PUT", update: "PATCH", replace: "PUT", remove: "DELETE" } as const;

function operationOf(state: State, { changes }: Write, at: number) {
  const change = changes[at] as PendingChange;
  const { kind, collection, id, body } = change;
  const isAgain = changes.findIndex((one) => pathOf(one) === pathOf(change)) < at;
  const ifMatch = isAgain ? "*" : conditionOf(state, change);
  return {
    ...{ method: methods[kind], path: `/${collection}/${encodeURIComponent(id)}` },
    ...(body && { body }),
    ...(kind === "create" ? { ifNoneMatch: "*" } : ifMatch && { ifMatch }),
  };
}

/** The tag that was seen; if it is that of the write before, the one that the server has returned for it. */
function conditionOf(state: State, change: PendingChange): string | undefined {
  const { seen } = change;
  const row = state.row(change);
  return row && seen && row.was.at(-1) === seen ? row.etag : seen;
}

/** Without an answer it may have been done, and its key may be gone: then the state tells. */
function isDone(
  write: Write,
  change: PendingChange,
  { status }: Problem,
  current: Identified | undefined,
): boolean {
  if (status !== 412) return false;
  // Nobody else makes a new id.
  if (change.kind === "create" && !change.base) return true;
  const { triedAt = Number.POSITIVE_INFINITY, isWithOtherToken } = write;
  const isUnsure = isWithOtherToken || Date.now() - triedAt > keyLifeMs;
  return isUnsure && current !== undefined && isOutcome(write, change, current);
}

/** Whether a state is the one that a write leaves. */
function isOutcome(write: Write, change: PendingChange, current: Identified): boolean {
  let state: Identified | undefined;
  for (const one of write.changes)
    if (pathOf(one) === pathOf(change)) state = applied(state, one, write);
  return state !== undefined && isStateOf(current, draftOf(state));
}

export const toldProblem = ({
  status,
  kind,
  message,
  errors,
  requestId,
}: Problem): ToldProblem => ({
  ...{ status, kind, message, errors, requestId },
});

/** A proxy whose server is away may answer 404 or 410 itself, which says nothing of the data. */
export const isPassing = ({ status, kind }: Problem): boolean =>
  [0, 401, 408, 429].includes(status) ||
  status >= 500 ||
  ([404, 410].includes(status) && kind === "unknown");

/** Returns the problem instead of throwing it. An answer that breaks off is none. */
export const attempt = <T>(signal: AbortSignal, request: () => Promise<T>): Promise<T | Problem> =>
  request().catch((error: unknown) => {
    if (signal.aborted) throw error;
    return error instanceof Problem ? error : new NoAnswer(error);
  });
