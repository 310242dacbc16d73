// A local copy of a query, with the pending writes applied.

import { Problem } from "../problem.ts";
import type { CollectionTypes, Identified, Where } from "../types.ts";
import type { Journal, Unsubscribe } from "./journal.ts";
import { applied, type CopyQuery, type ToldProblem } from "./state.ts";

export interface CopyOptions<T> {
  readonly where?: Where<T>;
  /** Whether a resource belongs to it, for what is not yet sent: the client does not evaluate `where`. */
  readonly matches?: (resource: T) => boolean;
}

interface Snapshot<T> {
  readonly version: number;
  readonly all: readonly T[];
  readonly byId: ReadonlyMap<string, T>;
}

export class Copy<C extends CollectionTypes> {
  readonly key: string;
  readonly query: CopyQuery;
  readonly #journal: Journal;
  readonly #matches: (resource: C["resource"]) => boolean;
  #snapshot: Snapshot<C["resource"]> | undefined;

  constructor(
    journal: Journal,
    key: string,
    query: CopyQuery,
    matches: (resource: C["resource"]) => boolean = () => true,
  ) {
    this.#journal = journal;
    this.key = key;
    this.query = query;
    this.#matches = matches;
  }

  /** In the order of their ids. The same array until something changes. */
  all = (): readonly C["resource"][] => this.#current().all;

  get = (id: string): C["resource"] | undefined => this.#current().byId.get(id);

  /** The listener is called after each change of the collection. */
  subscribe = (listener: () => void): Unsubscribe =>
    this.#journal.subscribe(listener, this.query.collection);

  /** `ready` when everything has been read once, now or in an earlier session. */
  get state(): "loading" | "ready" {
    return this.#journal.state.copies.get(this.key)?.complete ? "ready" : "loading";
  }

  /** Why the server does not let it be read; undefined while it does. */
  get problem(): ToldProblem | undefined {
    return this.#journal.state.copies.get(this.key)?.problem;
  }

  /** Rejects with a `Problem` when the server does not let it be read. */
  ready(): Promise<this> {
    return new Promise((resolve, reject) => {
      const check = () => {
        if (this.state === "ready") resolve(this);
        else if (this.problem) reject(problemOf(this.problem));
        else return;
        end();
      };
      const end = this.subscribe(check);
      check();
    });
  }

  #current(): Snapshot<C["resource"]> {
    const version = this.#journal.version(this.query.collection);
    if (this.#snapshot?.version !== version) this.#snapshot = this.#read(version);
    return this.#snapshot;
  }

  #read(version: number): Snapshot<C["resource"]> {
    const shown = [...this.#shown().values()].filter((one) => this.#matches(one));
    const all = shown.sort((a, b) => (a.id < b.id ? -1 : 1));
    return { version, all, byId: new Map(all.map((one) => [one.id, one])) };
  }

  #shown(): ReadonlyMap<string, Identified> {
    const { collection } = this.query;
    const { state } = this.#journal;
    const shown = new Map<string, Identified>();
    for (const [id, row] of state.rows(collection))
      if (row.in[this.key] !== undefined) shown.set(id, row.resource);
    for (const write of state.writes)
      for (const change of write.changes) {
        const { id, kind } = change;
        if (change.collection !== collection || (kind !== "create" && !shown.has(id))) continue;
        const after = applied(shown.get(id), change, write);
        if (after) shown.set(id, after);
        else shown.delete(id);
      }
    return shown;
  }
}

const problemOf = ({ status, kind, message }: ToldProblem): Problem =>
  new Problem(status, { type: kind, detail: message });
