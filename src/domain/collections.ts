// Collections and their rules, for administrators.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import type { Collection } from "../model/collection.ts";
import { type Definition, readDefinition } from "../model/definition.ts";
import { isCollectionName } from "../model/id.ts";
import { type FieldError, Problem } from "../model/problem.ts";
import type { Store } from "../store/store.ts";
import { collectionNotFound } from "./problems.ts";
import { findViolations, noViolations, type Violations } from "./violations.ts";

export interface Defined {
  readonly isNew: boolean;
  /** What is there and does not fit; it stays, and is judged when it is next written. */
  readonly violations: Violations;
}

export class Collections {
  readonly #store: Store;
  readonly #clock: () => number;

  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  list(): MaybePromise<readonly Collection[]> {
    return this.#store.collections();
  }

  find(name: string): MaybePromise<Collection | Problem> {
    return then(
      this.#store.collection(name),
      (collection) => collection ?? collectionNotFound(name),
    );
  }

  /** What defining would do, without doing it. */
  async consider(name: string, text: string): Promise<Defined | Problem> {
    const definition = read(name, text);
    if (definition instanceof Problem) return definition;
    const before = await this.#store.collection(name);
    const violations = before ? await findViolations(this.#store, name, definition) : noViolations;
    return { isNew: before === undefined, violations };
  }

  /** Gives a collection its rules, and brings it into being if need be. */
  async define(name: string, text: string): Promise<Defined | Problem> {
    const definition = read(name, text);
    if (definition instanceof Problem) return definition;
    const before = await this.#store.collection(name);
    const change = { kind: "define", collection: name, definition: compact(text) } as const;
    const [outcome] = await this.#store.commit([{ ...change, at: this.#clock() }]);
    if (outcome?.kind === "conflict") return duplicates(outcome.field);
    // Only now, when all that comes is judged by the new rules, does the list have an end.
    const violations = before?.total
      ? await findViolations(this.#store, name, definition)
      : noViolations;
    return { isNew: before === undefined, violations };
  }

  /** The same, unless it is the definition that holds already. */
  async ensure(name: string, text: string): Promise<Defined | Problem | undefined> {
    const rules = await this.#store.rules(name);
    return rules?.definition === compact(text) ? undefined : this.define(name, text);
  }

  /** The end of a collection. Where there are resources in it, only if that is `confirmed`. */
  async drop(name: string, isConfirmed: boolean): Promise<Problem | undefined> {
    const change = { kind: "drop", collection: name, isEmptyOnly: !isConfirmed } as const;
    const [outcome] = await this.#store.commit([change]);
    if (outcome?.kind === "missing") return collectionNotFound(name);
    return outcome?.kind === "taken" ? notEmpty(name) : undefined;
  }
}

function read(name: string, text: string): Definition | Problem {
  if (!isCollectionName(name)) return collectionNotFound(name);
  const definition = readDefinition(text);
  return "access" in definition ? definition : invalid(definition);
}

const invalid = (errors: readonly FieldError[]): Problem =>
  new Problem("invalid-body", "The definition is not valid; `errors` names each fault.", {
    errors,
  });

const compact = (text: string): string => JSON.stringify(JSON.parse(text));

const duplicates = (field: string): Problem =>
  new Problem(
    "conflict",
    `There are resources with the same ${field}, so it cannot be unique. Nothing was changed; \`?dry-run=true\` names them.`,
    { errors: [{ pointer: "/unique", detail: `${field} is not unique in what is there` }] },
  );

const notEmpty = (name: string): Problem =>
  new Problem(
    "conflict",
    `There are resources in it. To delete them too, and for ever, add \`?confirm=${name}\`.`,
  );
