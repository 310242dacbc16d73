// The resources that do not fit a definition: counted, and the first few named.

import { setImmediate } from "node:timers/promises";
import { pointerTo } from "../lib/json/error-report.ts";
import type { Definition } from "../model/definition.ts";
import type { FieldError } from "../model/problem.ts";
import { entryErrors, listFields } from "../model/query/entry-limit.ts";
import { IndexedContent, type IndexPlan, indexPlanOf } from "../model/query/index-plan.ts";
import { keysOf, minKey } from "../model/query/sort-key.ts";
import { withFileMembers } from "../model/render.ts";
import type { Resource } from "../model/resource.ts";
import { validatorOf } from "../model/validator.ts";
import type { Store } from "../store/store.ts";

export interface Violation {
  readonly id: string;
  readonly errors: readonly FieldError[];
}

export interface Violations {
  readonly count: number;
  readonly first: readonly Violation[];
}

export const noViolations: Violations = { count: 0, first: [] };

const maxNamed = 10;
/** So many are judged in one go; then others have their turn. */
const pageLimit = 500;

export async function findViolations(
  store: Store,
  collection: string,
  definition: Definition,
): Promise<Violations> {
  const judge = new Judge(definition);
  if (judge.isContent) return noViolations;
  for (let offset = 0; ; offset += pageLimit) {
    const slice = await store.slice(collection, { offset, limit: pageLimit, order: "created" });
    for (const resource of slice?.resources ?? []) judge.look(resource);
    if (!slice || slice.resources.length < pageLimit) return judge.violations;
    await setImmediate();
  }
}

class Judge {
  readonly #definition: Definition;
  readonly #uniques: IndexPlan["indexes"];
  /** Who has each value of the fields that are unique. */
  readonly #holders = new Map<string, string>();
  readonly #first: Violation[] = [];
  #count = 0;

  constructor(definition: Definition) {
    this.#definition = definition;
    this.#uniques = indexPlanOf(JSON.stringify(definition)).indexes.filter(
      ({ isUnique }) => isUnique,
    );
  }

  /** Whether everything fits. */
  get isContent(): boolean {
    const { schema } = this.#definition;
    const hasLists = listFields(this.#definition).length > 0;
    return schema === undefined && this.#uniques.length === 0 && !hasLists;
  }

  get violations(): Violations {
    return { count: this.#count, first: this.#first };
  }

  look(resource: Resource): void {
    const fields = withFileMembers(resource.fields, resource, "");
    // As an administrator would write it back.
    const judged = validatorOf(this.#definition).accept(fields, fields, true);
    const faults = typeof judged === "string" ? [] : judged;
    const tooMany = entryErrors(this.#definition, resource.fields);
    const errors = [...faults, ...tooMany, ...this.#duplicates(resource)];
    if (errors.length === 0) return;
    this.#count++;
    if (this.#first.length < maxNamed) this.#first.push({ id: resource.id, errors });
  }

  #duplicates(resource: Resource): readonly FieldError[] {
    const content = new IndexedContent(resource);
    return this.#uniques.flatMap(({ field, kind }) =>
      keysOf(kind, content.at(field))
        .filter((key) => key !== minKey)
        .flatMap((key) => this.#hold(field, key, resource.id)),
    );
  }

  #hold(field: string, key: string, id: string): readonly FieldError[] {
    const place = `${field} ${key}`;
    const holder = this.#holders.get(place);
    if (holder === undefined) this.#holders.set(place, id);
    const pointer = pointerTo(field.split("."));
    return holder === undefined ? [] : [{ pointer, detail: `${holder} has the same value` }];
  }
}
