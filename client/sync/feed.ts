// Reads the feed of a copy, page by page: the rows of a page and the position after it are saved together.

import type { ChangePage } from "../changes.ts";
import type { Client } from "../index.ts";
import { Problem } from "../problem.ts";
import { etagOf } from "../tags.ts";
import type { AnyResource, Identified } from "../types.ts";
import { type Journal, rowRecord } from "./journal.ts";
import { attempt, isPassing, type Queue, toldProblem } from "./queue.ts";
import type { CopyQuery, CopyRecord, Row, State } from "./state.ts";
import type { StoredRecord } from "./storage.ts";

const dayMs = 24 * 3_600_000;

type FeedPage = Pick<ChangePage<AnyResource>, "changes" | "more"> & { readonly next?: string };

const nothing: FeedPage = { changes: [], more: false };

export class Feed {
  readonly #client: Client;
  readonly #journal: Journal;
  readonly #queue: Queue;
  readonly #signal: AbortSignal;

  constructor(client: Client, journal: Journal, queue: Queue, signal: AbortSignal) {
    this.#client = client;
    this.#journal = journal;
    this.#queue = queue;
    this.#signal = signal;
  }

  /** Reads to the end, or until it is forgotten. Writes go first. Throws a `Problem` that passes. */
  async read(key: string, query: CopyQuery): Promise<void> {
    await this.#journal.commit(({ copies }) => (copies.has(key) ? [] : [[key, newCopy(query)]]));
    for (let more = true; more; ) {
      await this.#queue.send();
      const copy = this.#journal.state.copies.get(key);
      more = copy !== undefined && (await this.#readPage(key, copy));
    }
  }

  /** Removes a copy, and the rows that only it has. */
  drop(key: string): Promise<void> {
    return this.#journal.commit((state) => [
      [key, undefined],
      ...rowsIn(state, key, state.copies.get(key)?.collection ?? ""),
    ]);
  }

  /** Returns whether there is more to read. */
  async #readPage(key: string, copy: CopyRecord): Promise<boolean> {
    const { collection, where, since } = copy;
    const signal = this.#signal;
    const query = { ...(where && { where }), ...(since && { since }), signal };
    const page = await attempt(signal, () => this.#client.collection(collection).changes(query));
    const save = (changed: CopyRecord, page: FeedPage) =>
      this.#journal.commit((state) =>
        state.copies.get(key) === copy ? pageRecords(state, key, changed, page) : [],
      );
    if (!(page instanceof Problem)) {
      await save(copy, page);
      return page.more;
    }
    if (isPassing(page)) throw page;
    const isAgain = page.status === 410 && since !== undefined;
    // The collection does not exist, or this caller does not see it.
    if (page.status === 404) await save(copy.complete && !since ? copy : again(copy), nothing);
    else if (isAgain) await this.#journal.commit(() => [[key, again(copy)]]);
    else if (page.status === 403) await this.#forbid(key, copy, page);
    else if (copy.problem?.message !== page.message)
      await this.#journal.commit(() => [[key, { ...copy, problem: toldProblem(page) }]]);
    return isAgain;
  }

  /** What the copy has shown is no longer for this caller. */
  #forbid(key: string, copy: CopyRecord, problem: Problem): Promise<void> {
    return this.#journal.commit((state) => {
      const rows = rowsIn(state, key, copy.collection);
      if (rows.length === 0 && copy.problem?.message === problem.message) return [];
      const after = { ...again(copy), complete: 0, problem: toldProblem(problem) };
      return [[key, after], ...rows];
    });
  }
}

/** The records of its rows after it has lost them. */
const rowsIn = (state: State, key: string, collection: string): readonly StoredRecord[] =>
  [...state.rows(collection).values()]
    .filter((row) => row.in[key] !== undefined)
    .map((row) => rowRecord(state, without(row, key), new Set()));

const newCopy = ({ collection, where }: CopyQuery): CopyRecord => ({
  ...{ collection, ...(where && { where }), round: 1, complete: 0, readAt: 0 },
});

/** From the beginning. What the round before has shown stays until this one is complete. */
const again = ({ since: _, problem: _problem, ...copy }: CopyRecord): CopyRecord => ({
  ...copy,
  round: copy.round + 1,
});

/** A page after which nothing is different is not saved, but for once a day. */
function pageRecords(
  state: State,
  key: string,
  { problem, ...copy }: CopyRecord,
  { changes, next, more }: FeedPage,
): readonly StoredRecord[] {
  const { round } = copy;
  /** What only an earlier round has shown, or none: a new resource that is guessed to be in the copy. */
  const unshown = [...state.rows(copy.collection)].filter(
    ([, row]) => (row.in[key] ?? round) < round,
  );
  const isNews = changes.length > 0 || more || problem || copy.complete !== round;
  if (!isNews && unshown.length === 0 && Date.now() - copy.readAt < dayMs) return [];
  const rows = new Map<string, Row>();
  for (const change of changes) {
    const id = "removed" in change ? change.removed : change.resource.id;
    const before = state.row({ collection: copy.collection, id });
    if ("resource" in change) rows.set(id, shownRow(before, key, copy, change.resource));
    else if (before) rows.set(id, without(before, key));
  }
  if (!more) for (const [id, row] of unshown) if (!rows.has(id)) rows.set(id, without(row, key));
  const after = {
    ...{ ...copy, readAt: Date.now(), complete: more ? copy.complete : round },
    ...(next && { since: next }),
  };
  const none = new Set<never>();
  return [[key, after], ...[...rows.values()].map((row) => rowRecord(state, row, none))];
}

/** The same object, if it has not changed. */
function shownRow(
  before: Row | undefined,
  key: string,
  { collection, round }: CopyRecord,
  resource: Identified,
): Row {
  const etag = etagOf(resource) ?? "";
  const shown = { ...before?.in, [key]: round };
  if (before?.etag === etag) return { ...before, in: shown };
  return { collection, resource, etag, was: [], in: shown };
}

function without(row: Row, key: string): Row {
  const { [key]: _, ...others } = row.in;
  return { ...row, in: others };
}
