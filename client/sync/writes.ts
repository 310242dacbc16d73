// Makes the changes of a write, each from the state that was seen.

import { etagOf, withEtag } from "../tags.ts";
import type { AnyCollections, CollectionTypes, Identified, Patch } from "../types.ts";
import type { Journal } from "./journal.ts";
import { applied, type PendingChange, tagOf, type Write } from "./state.ts";

let lastMs = 0;

/** A UUIDv7, so that ids are in the order of creation. `randomUUID` is missing in pages without TLS. */
export function newId(): string {
  lastMs = Math.max(Date.now(), lastMs + 1);
  const time = hex(lastMs, 12);
  const random = Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => hex(byte, 2)).join(
    "",
  );
  const parts = [
    time.slice(0, 8),
    time.slice(8),
    `7${random.slice(0, 3)}`,
    `8${random.slice(3, 6)}`,
  ];
  return [...parts, random.slice(6)].join("-");
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");

/** Later than each write before it, whatever the clock says. */
export function newWrite({
  state,
  unsaved,
}: Journal): Write & { readonly changes: PendingChange[] } {
  const orders = [...state.writes, ...unsaved].map(({ order }) => order + 1);
  return { id: newId(), key: newId(), order: Math.max(Date.now(), ...orders), changes: [] };
}

type WriteTarget = Identified | string;

/** Changes that happen together or not at all. */
export class Writes<C extends { readonly [K in keyof C]: CollectionTypes } = AnyCollections> {
  readonly #journal: Journal;
  readonly #write: ReturnType<typeof newWrite>;

  constructor(journal: Journal, write: ReturnType<typeof newWrite>) {
    this.#journal = journal;
    this.#write = write;
  }

  create<N extends keyof C & string>(collection: N, draft: C[N]["draft"]): C[N]["resource"] {
    const change = { kind: "create", collection, id: newId(), body: Object(draft) } as const;
    return this.#add(change) as C[N]["resource"];
  }

  update<N extends keyof C & string>(
    collection: N,
    target: C[N]["resource"] | string,
    patch: Patch<C[N]["draft"]>,
  ): C[N]["resource"] {
    const place = this.#find(collection, target);
    return this.#add({ ...place, kind: "update", body: patch }) as C[N]["resource"];
  }

  replace<N extends keyof C & string>(
    collection: N,
    target: C[N]["resource"] | string,
    draft: C[N]["draft"],
  ): C[N]["resource"] {
    const place = this.#find(collection, target);
    return this.#add({ ...place, kind: "replace", body: Object(draft) }) as C[N]["resource"];
  }

  remove<N extends keyof C & string>(collection: N, target: C[N]["resource"] | string): void {
    this.#add({ ...this.#find(collection, target), kind: "remove" });
  }

  #add(change: PendingChange): Identified | undefined {
    this.#write.changes.push(structuredClone(change));
    return applied(change.base, change, this.#write);
  }

  /**
   * The state and the tag that a change is made from. Writes of this client that are not sent yet, and
   * those since the state that was seen, are no conflict: one person has made them.
   */
  #find(collection: string, target: WriteTarget) {
    const id = typeof target === "string" ? target : target.id;
    const tag = typeof target === "string" ? undefined : etagOf(target);
    const { shown, tags } = this.#shown(collection, id);
    const isKnown = tag === undefined || tags.includes(tag);
    const base = isKnown || typeof target === "string" ? shown : target;
    const seen = isKnown ? tags.at(-1) : tag;
    if (!base || seen === undefined)
      throw new Error(`No copy has ${collection}/${id}. Read it, and pass it instead of its id.`);
    return { collection, id, base, seen };
  }

  /** What is shown of a resource, and the tags of the states that have led to it, the last one last. */
  #shown(collection: string, id: string) {
    const { state, unsaved } = this.#journal;
    const row = state.row({ collection, id });
    let shown = row?.resource;
    const tags = row ? [...row.was, row.etag] : [];
    for (const write of [...state.writes, ...unsaved])
      for (const change of write.changes)
        if (change.collection === collection && change.id === id) {
          shown = applied(shown, change, write);
          tags.push(...(change.seen ? [change.seen] : []), tagOf(write));
        }
    return { shown: shown && withEtag({ ...shown }, tags.at(-1)), tags };
  }
}
