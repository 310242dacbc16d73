// Measures the reads and commits of a store for the requests that are traced.

import { measureStep } from "../lib/traces.ts";
import type { Store } from "./store.ts";

export function traceStore<Traced extends Store>(store: Traced): Traced {
  return {
    ...store,
    find: read("find", store.find),
    findAll: read("findAll", store.findAll),
    findUnique: read("findUnique", store.findUnique),
    slice: read("slice", store.slice),
    query: read("query", store.query),
    since: read("since", store.since),
    token: (hash: string) => measureStep("store token", {}, () => store.token(hash)),
    // The time in the group, and until it is on disk.
    commit: (changes: Parameters<Store["commit"]>[0]) =>
      measureStep("commit wait", { "db.operation.batch.size": changes.length }, () =>
        store.commit(changes),
      ),
  };
}

/** The first argument of a read is the collection. */
const read =
  <Rest extends readonly unknown[], Result>(
    name: string,
    method: (collection: string, ...rest: Rest) => Result,
  ) =>
  (collection: string, ...rest: Rest): Result =>
    measureStep(`store ${name}`, { "db.collection.name": collection }, () =>
      method(collection, ...rest),
    );
