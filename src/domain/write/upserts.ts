// Finds out which resource an upsert replaces: the one that has the draft's value of a unique field.

import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { isResourceId, newId } from "../../model/id.ts";
import { Problem } from "../../model/problem.ts";
import type { IndexEntry } from "../../model/query/index-plan.ts";
import { uniqueEntryOf, uniqueFieldNames, uniqueFieldOf } from "../../model/query/unique-field.ts";
import type { Resource } from "../../model/resource.ts";
import type { Outcome, Store } from "../../store/store.ts";
import { failureOf } from "../../store/store.ts";
import type { CollectionAccess } from "../access.ts";
import type { AddressedOperation, UpsertOperation } from "./operation.ts";

/** The address at which an upsert puts its draft. */
interface Target {
  readonly id: string;
  /** The resource that is replaced, if the caller may change it. */
  readonly current: Resource | undefined;
  /** Whether no resource has the value, so that a conflict shows a concurrent upsert. */
  readonly isFree: boolean;
  /** Whether another resource has the id of the draft. */
  readonly isIdTaken: boolean;
}

type PutOperation = Extract<AddressedOperation, { kind: "put" }>;

export class Upserts {
  readonly #store: Store;
  readonly #entries = new Map<UpsertOperation, IndexEntry | Problem>();
  /** By collection and entry: several upserts of one value have the same target. */
  readonly #targets = new Map<string, Target>();
  /** The entries by the addresses of their targets. */
  readonly #addresses = new Map<string, string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Reads which resource has the value. Calls `found` with each address and its resource. */
  load(
    access: CollectionAccess,
    operation: UpsertOperation,
    found: (id: string, current: Resource | undefined) => void,
  ): MaybePromise<unknown> {
    const entry = entryOf(access, operation);
    this.#entries.set(operation, entry);
    if (entry instanceof Problem) return undefined;
    const { draft } = operation;
    return then(this.#store.findUnique(access.name, entry), (holder) => {
      // A resource that the caller may not change is treated as missing: its value is a conflict, as with POST.
      const current = holder && access.includes("update", holder) ? holder : undefined;
      const isNamed = current === undefined && typeof draft.id === "string";
      const named = isNamed ? this.#store.find(access.name, draft.id) : undefined;
      return then(named, (taken) => {
        const name = nameOf(access, entry);
        if (this.#targets.has(name)) return;
        const id = current?.id ?? draft.id ?? newId();
        const isFree = holder === undefined;
        this.#targets.set(name, { id, current, isFree, isIdTaken: taken !== undefined });
        found(id, current);
      });
    });
  }

  /** Returns the upsert as a PUT to the address of its target. */
  resolve(access: CollectionAccess, operation: UpsertOperation): PutOperation | Problem {
    const { draft, condition } = operation;
    const entry = this.#entries.get(operation);
    if (entry === undefined || entry instanceof Problem) return entry ?? notLoaded();
    const name = nameOf(access, entry);
    const { id, current, isIdTaken } = this.#targets.get(name) ?? notLoaded();
    const sent = draft.id ?? undefined;
    if (draft.id === null || (sent !== undefined && !isResourceId(sent))) return invalidId;
    if (sent !== undefined && sent !== id) return current ? otherId : takenId;
    const address = `${access.name}/${id}`;
    const owner = this.#addresses.get(address) ?? name;
    if (isIdTaken || owner !== name) return takenId;
    this.#addresses.set(address, name);
    return { kind: "put", id, draft, condition };
  }

  /** Whether another request has taken the value since it was looked up: then plan again. */
  isOvertaken(access: CollectionAccess, operation: UpsertOperation, outcome: Outcome): boolean {
    const failure = failureOf(outcome);
    if (failure.kind !== "conflict" || failure.field !== operation.field) return false;
    const entry = this.#entries.get(operation);
    if (entry === undefined || entry instanceof Problem) return false;
    return this.#targets.get(nameOf(access, entry))?.isFree === true;
  }
}

function entryOf(access: CollectionAccess, operation: UpsertOperation): IndexEntry | Problem {
  const { field, draft } = operation;
  const unique = uniqueFieldOf(access.rules, field);
  if (unique === undefined) return notUniqueField(access, field);
  const entry = uniqueEntryOf(unique, draft.fields);
  return "key" in entry
    ? entry
    : new Problem("invalid-body", `The resource has no value of ${field}.`, { errors: [entry] });
}

/** The problem of an upsert by a field that is not unique. */
export function notUniqueField({ name, rules }: CollectionAccess, field: string): Problem {
  const names = uniqueFieldNames(rules);
  const those =
    names.length === 0
      ? `${name} has no field that is unique on its own; add one to \`unique\` in its definition`
      : `the unique fields of ${name} are: ${names.join(", ")}`;
  return new Problem("invalid-parameter", `${field} is not a unique field of ${name}.`, {
    errors: [
      { parameter: field, detail: `only a unique field says which resource is meant; ${those}` },
    ],
  });
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
