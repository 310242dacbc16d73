// Counts the resources that do not match a definition, and lists the first few.

import { RestingTurns } from "../lib/turns.ts";
import type { Definition } from "../model/definition.ts";
import { isLate } from "../model/outage.ts";
import type { FieldError } from "../model/problem.ts";
import { entryErrors, listFields } from "../model/query/entry-limit.ts";
import {
  type Index,
  IndexedContent,
  indexPlanOf,
  uniqueKeysIn,
} from "../model/query/index-plan.ts";
import { danglingError, findReferences, referencesOf } from "../model/reference.ts";
import { withFileMembers } from "../model/render.ts";
import type { Resource } from "../model/resource.ts";
import type { Violation, Violations } from "../model/schemas/collection.ts";
import { validatorOf } from "../model/validator.ts";
import type { Range, Store } from "../store/store.ts";
import { duplicateErrors } from "./not-unique.ts";

export const noViolations: Violations = { count: 0, first: [] };

const maxListed = 10;
const page = { limit: 50, maxBytes: 256 * 1024 };
/** So many resources are checked in any case. */
const alwaysChecked = 500;

export interface ViolationOptions {
  /** When this time is over, the rest is not checked. */
  readonly maxMs: number;
  /** Whether values are compared; a build of indexes does that, too. */
  readonly comparesValues: boolean;
}

export async function findViolations(
  store: Store,
  collection: string,
  definition: Definition,
  { maxMs, comparesValues }: ViolationOptions,
): Promise<Violations> {
  const finder = new ViolationFinder(definition, comparesValues);
  if (finder.acceptsAnything) return noViolations;
  const turns = new RestingTurns();
  const end = performance.now() + maxMs;
  for (let checked = 0, limit = page.limit; ; ) {
    const { maxBytes } = page;
    const range = { offset: checked, order: "created", limit, maxBytes } as const;
    const slice = await sliceOrLate(store, collection, range);
    if (slice === "late") return { ...finder.violations, checked };
    limit = slice?.fits ?? page.limit;
    if (slice?.fits !== undefined) continue;
    for (const resource of slice?.resources ?? []) {
      const startedAt = performance.now();
      finder.check(resource, await danglingErrors(store, definition, resource));
      await turns.take(performance.now() - startedAt);
    }
    checked += slice?.resources.length ?? 0;
    if (!slice || slice.resources.length === 0 || checked >= slice.collection.total)
      return finder.violations;
    if (checked >= alwaysChecked && performance.now() >= end)
      return { ...finder.violations, checked };
  }
}

/** At the deadline of queries what was checked until then is the answer. */
async function sliceOrLate(store: Store, collection: string, range: Range) {
  try {
    return await store.slice(collection, range);
  } catch (thrown) {
    if (isLate(thrown)) return "late";
    throw thrown;
  }
}

/** Finds the references of a stored resource to resources that do not exist. */
async function danglingErrors(
  store: Store,
  { references }: Definition,
  { fields }: Resource,
): Promise<readonly FieldError[]> {
  const declared = referencesOf(references);
  if (declared.length === 0) return [];
  const errors: FieldError[] = [];
  for (const found of findReferences(declared, JSON.parse(fields))) {
    const { reference, value } = found;
    const isFound = typeof value === "string" && (await store.find(reference.collection, value));
    if (!isFound) errors.push(danglingError(found));
  }
  return errors;
}

class ViolationFinder {
  readonly #definition: Definition;
  readonly #uniques: readonly Index[];
  /** The id of the first resource with each value of a unique field. */
  readonly #idsByValue = new Map<string, string>();
  readonly #first: Violation[] = [];
  #count = 0;

  constructor(definition: Definition, comparesValues: boolean) {
    this.#definition = definition;
    this.#uniques = comparesValues
      ? indexPlanOf(JSON.stringify(definition)).indexes.filter(({ isUnique }) => isUnique)
      : [];
  }

  /** Whether the definition has no rule that a resource could break. */
  get acceptsAnything(): boolean {
    const { schema, references } = this.#definition;
    const hasLists = listFields(this.#definition).length > 0;
    const hasReferences = referencesOf(references).length > 0;
    return schema === undefined && this.#uniques.length === 0 && !hasLists && !hasReferences;
  }

  get violations(): Violations {
    return { count: this.#count, first: this.#first };
  }

  check(resource: Resource, dangling: readonly FieldError[]): void {
    const fields = withFileMembers(resource.fields, resource, "");
    // Validated like a write by an administrator.
    const accepted = validatorOf(this.#definition).accept(fields, fields, true);
    const invalid = typeof accepted === "string" ? [] : accepted;
    const tooMany = entryErrors(this.#definition, resource.fields);
    const errors = [...invalid, ...tooMany, ...this.#duplicates(resource), ...dangling];
    if (errors.length === 0) return;
    this.#count++;
    if (this.#first.length < maxListed) this.#first.push({ id: resource.id, errors });
  }

  #duplicates(resource: Resource): readonly FieldError[] {
    const content = new IndexedContent(resource);
    return this.#uniques.flatMap((index) =>
      uniqueKeysIn(index, content).flatMap((key) => this.#duplicate(index, key, resource.id)),
    );
  }

  #duplicate({ name }: Index, key: string, id: string): readonly FieldError[] {
    const address = `${name} ${key}`;
    const otherId = this.#idsByValue.get(address);
    if (otherId === undefined) this.#idsByValue.set(address, id);
    return otherId === undefined ? [] : duplicateErrors(name, otherId);
  }
}
