// The resources that do not fit a definition: counted, and the first few named.

import { setImmediate } from "node:timers/promises";
import type { Definition } from "../model/definition.ts";
import { pointerTo } from "../model/json/report.ts";
import { entryFaults, listFields } from "../model/list/entry-limit.ts";
import { keysOf, noKey } from "../model/list/key.ts";
import { Content, type Plan, planOf } from "../model/list/plan.ts";
import type { Fault } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { shapeOf } from "../model/schema/shape.ts";
import { withParts } from "../model/view.ts";
import type { Store } from "../store/store.ts";

export interface Misfit {
  readonly id: string;
  readonly errors: readonly Fault[];
}

export interface Misfits {
  readonly count: number;
  readonly first: readonly Misfit[];
}

export const noMisfits: Misfits = { count: 0, first: [] };

const maxNamed = 10;
/** So many are judged in one go; then others have their turn. */
const pageLimit = 500;

export async function findMisfits(
  store: Store,
  collection: string,
  definition: Definition,
): Promise<Misfits> {
  const judge = new Judge(definition);
  if (judge.isContent) return noMisfits;
  for (let offset = 0; ; offset += pageLimit) {
    const slice = await store.slice(collection, { offset, limit: pageLimit, order: "created" });
    for (const resource of slice?.resources ?? []) judge.look(resource);
    if (!slice || slice.resources.length < pageLimit) return judge.misfits;
    await setImmediate();
  }
}

class Judge {
  readonly #definition: Definition;
  readonly #uniques: Plan["indexes"];
  /** Who has each value of the fields that are unique. */
  readonly #holders = new Map<string, string>();
  readonly #first: Misfit[] = [];
  #count = 0;

  constructor(definition: Definition) {
    this.#definition = definition;
    this.#uniques = planOf(JSON.stringify(definition)).indexes.filter(({ isUnique }) => isUnique);
  }

  /** Whether everything fits. */
  get isContent(): boolean {
    const { schema } = this.#definition;
    const hasLists = listFields(this.#definition).length > 0;
    return schema === undefined && this.#uniques.length === 0 && !hasLists;
  }

  get misfits(): Misfits {
    return { count: this.#count, first: this.#first };
  }

  look(resource: Resource): void {
    const fields = withParts(resource.fields, resource, "");
    // As an administrator would write it back.
    const judged = shapeOf(this.#definition).accept(fields, fields, true);
    const faults = typeof judged === "string" ? [] : judged;
    const tooMany = entryFaults(this.#definition, resource.fields);
    const errors = [...faults, ...tooMany, ...this.#duplicates(resource)];
    if (errors.length === 0) return;
    this.#count++;
    if (this.#first.length < maxNamed) this.#first.push({ id: resource.id, errors });
  }

  #duplicates(resource: Resource): readonly Fault[] {
    const content = new Content(resource);
    return this.#uniques.flatMap(({ field, kind }) =>
      keysOf(kind, content.at(field))
        .filter((key) => key !== noKey)
        .flatMap((key) => this.#hold(field, key, resource.id)),
    );
  }

  #hold(field: string, key: string, id: string): readonly Fault[] {
    const place = `${field} ${key}`;
    const holder = this.#holders.get(place);
    if (holder === undefined) this.#holders.set(place, id);
    const pointer = pointerTo(field.split("."));
    return holder === undefined ? [] : [{ pointer, detail: `${holder} has the same value` }];
  }
}
