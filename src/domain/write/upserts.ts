// Finds out which resource an upsert replaces: the one that has the value of a unique field.

import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { isResourceId, newId } from "../../model/id.ts";
import { Problem } from "../../model/problem.ts";
import type { IndexEntry } from "../../model/query/index-plan.ts";
import { uniqueEntryOf } from "../../model/query/unique-field.ts";
import type { Resource } from "../../model/resource.ts";
import type { Outcome, Store } from "../../store/store.ts";
import { failureOf } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import type { PutOperation, UpsertOperation } from "./operation.ts";
import type { States } from "./states.ts";
import { type MeantResource, meantBy } from "./unique-value.ts";

/** The address at which an upsert puts its draft. */
interface UpsertTarget {
  readonly id: string;
  /** Whether a resource that the caller may change is there, and is replaced. */
  readonly isHeld: boolean;
  /** Whether no resource has the value, so that a conflict shows a concurrent upsert. */
  readonly isFree: boolean;
}

export class Upserts {
  readonly #store: Store;
  readonly #states: States;
  readonly #meant = new Map<UpsertOperation, MeantResource | Problem>();
  /** The resource that has the value of an upsert; null when none has it. */
  readonly #holders = new Map<UpsertOperation, Resource | null>();
  /** By collection and entry: several upserts of one value have the same target, which the first decides. */
  readonly #targets = new Map<string, UpsertTarget>();
  /** In an import all operations are upserts of one field. */
  readonly #isBulk: boolean;

  constructor(store: Store, states: States, isBulk: boolean) {
    this.#store = store;
    this.#states = states;
    this.#isBulk = isBulk;
  }

  /** Reads which resource has the value. Calls `found` with each address and its resource. */
  load(
    access: CollectionAccess,
    operation: UpsertOperation,
    found: (id: string, current: Resource | undefined) => void,
  ): MaybePromise<unknown> {
    const meant = meantBy(access, operation);
    this.#meant.set(operation, meant);
    if (meant instanceof Problem) return undefined;
    const { entry, draft } = meant;
    return then(this.#store.findUnique(access.name, entry), (holder) => {
      const isNamed = typeof draft.id === "string" && draft.id !== holder?.id;
      const named = isNamed ? this.#store.find(access.name, draft.id) : undefined;
      this.#holders.set(operation, holder ?? null);
      if (holder !== undefined) found(holder.id, holder);
      return then(named, (taken) => {
        if (isNamed) found(draft.id, taken);
      });
    });
  }

  /** The upserts of values that a stored resource has. */
  get held(): readonly (readonly [UpsertOperation, Resource])[] {
    return [...this.#holders].flatMap(([operation, holder]) =>
      holder ? [[operation, holder] as const] : [],
    );
  }

  /** From here on no stored resource has the value. */
  setFree(operation: UpsertOperation): void {
    this.#holders.set(operation, null);
  }

  /** Returns the upsert as a PUT to the address of its target. */
  resolve(access: CollectionAccess, operation: UpsertOperation): PutOperation | Problem {
    const meant = this.#meant.get(operation) ?? notLoaded();
    if (meant instanceof Problem) return meant;
    const { condition } = operation;
    const { draft, entry } = meant;
    const name = nameOf(access, entry);
    const loaded = this.#targets.get(name) ?? this.#firstTarget(access, operation, draft.id);
    const target = this.#targetAfter(access, meant, loaded);
    this.#targets.set(name, target);
    const { id, isHeld } = target;
    const sent = draft.id ?? undefined;
    if (draft.id === null || (sent !== undefined && !isResourceId(sent))) return invalidId;
    if (sent !== undefined && sent !== id) return isHeld ? otherId : takenId;
    const isTaken = !isHeld && this.#states.at(access.name, id)?.current !== undefined;
    return isTaken ? takenId : { kind: "put", id, draft, condition };
  }

  /** Returns the target after the operations before, which can have written, changed or deleted a holder. */
  #targetAfter(
    { name }: CollectionAccess,
    meant: MeantResource,
    loaded: UpsertTarget,
  ): UpsertTarget {
    const states = this.#states;
    const isHolder = (resource: Resource): boolean => isOf(meant, resource);
    const after = states.after({ collection: name, id: loaded.id });
    const own = after && isHolder(after) ? after : undefined;
    const holder = own ?? (this.#isBulk ? undefined : states.findWritten(name, isHolder));
    if (holder !== undefined) return { ...loaded, id: holder.id, isHeld: true };
    if (!loaded.isHeld || after === undefined) return loaded;
    return { id: this.#freeId(name, meant.draft.id), isHeld: false, isFree: true };
  }

  /** Decides in the order of the operations. Reads can end in any order. */
  #firstTarget(
    access: CollectionAccess,
    operation: UpsertOperation,
    sent: string | null | undefined,
  ): UpsertTarget {
    const holder = this.#holders.get(operation);
    if (holder === undefined) return notLoaded();
    // A resource that the caller may not change is treated as missing: its value is a conflict, as with POST.
    const isHeld = holder !== null && access.includes("update", holder);
    const id = isHeld ? holder.id : this.#freeId(access.name, sent);
    return { id, isHeld, isFree: holder === null };
  }

  /** Returns the id of a resource that is created. */
  #freeId(collection: string, sent: string | null | undefined): string {
    const id = sent ?? newId();
    if (this.#states.at(collection, id) === undefined) this.#states.add(collection, id, undefined);
    return id;
  }

  /** Whether another request has taken the value since it was looked up: then plan again. */
  isOvertaken(access: CollectionAccess, operation: UpsertOperation, outcome: Outcome): boolean {
    const failure = failureOf(outcome);
    if (failure.kind !== "conflict" || failure.field !== operation.field) return false;
    const meant = this.#meant.get(operation);
    if (meant === undefined || meant instanceof Problem) return false;
    return this.#targets.get(nameOf(access, meant.entry))?.isFree === true;
  }
}

/** Whether the resource has the value by which another one is meant. */
function isOf({ unique, entry }: MeantResource, resource: Resource): boolean {
  const own = uniqueEntryOf(unique, resource.fields);
  return "key" in own && own.key === entry.key;
}

const nameOf = ({ name }: CollectionAccess, { field, key }: IndexEntry): string =>
  `${name}\0${field}\0${key}`;

function notLoaded(): never {
  throw new Error("the target of each upsert must be loaded");
}

const idProblem = (kind: "conflict" | "invalid-body", detail: string, advice: string): Problem =>
  new Problem(kind, detail, { errors: [{ pointer: "/id", detail: advice }] });

const otherId = idProblem(
  "conflict",
  "The resource that has this value has another id than the body.",
  "leave it out, or send the id of that resource",
);

const takenId = idProblem(
  "conflict",
  "Another resource has the id of the body.",
  "leave it out: then a new resource gets an id of the server",
);

const invalidId = idProblem(
  "invalid-body",
  "The id is not valid.",
  "an id has 1 to 128 characters of A-Z a-z 0-9 . _ ~ -, and starts with a letter or digit",
);
