// Makes a dry run answer as if what its caller may not know of did not exist.

import { indexPlanOf } from "../../model/query/index-plan.ts";
import type { Resource } from "../../model/resource.ts";
import { claimsOf } from "../../store/core/unique-values.ts";
import type { Put, Remove, ResourceChange, Store } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import type { UpsertOperation } from "./operation.ts";
import type { States } from "./states.ts";
import type { Upserts } from "./upserts.ts";

export class Unseen {
  readonly #store: Store;
  readonly #ids = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Before the plan: nothing is at the addresses of such resources, and nothing has such values. */
  async setAside(access: CollectionAccess, states: States, upserts: Upserts): Promise<void> {
    if (seesAll(access)) return;
    const isHidden = (each: Resource) => !mayKnow(access, each, []);
    for (const { id } of await access.decide(() => states.stored.filter(isHidden))) {
      states.setAside(access.name, id);
      this.#ids.add(id);
    }
    const isUnknown = ([{ field }, holder]: readonly [UpsertOperation, Resource]) =>
      !mayKnow(access, holder, [field]);
    for (const [operation] of await access.decide(() => upserts.held.filter(isUnknown)))
      upserts.setFree(operation);
  }

  /** After the plan: returns what to try before the changes, so that nothing of the kind is in their way. */
  async before(
    access: CollectionAccess,
    changes: readonly ResourceChange[],
  ): Promise<readonly (Put | Remove)[]> {
    const { name: collection, rules } = access;
    const at = changes[0]?.at ?? 0;
    const change = { collection, at, expect: "anything" } as const;
    const withoutValues = seesAll(access)
      ? []
      : await this.#hiddenHolders(access, indexPlanOf(rules?.definition ?? "{}"), changes);
    return [
      ...withoutValues.map((id): Put => ({ kind: "put", id, fields: "{}", ...change })),
      ...[...this.#ids].map((id): Remove => ({ kind: "remove", id, ...change })),
    ];
  }

  /** The resources that have a unique value of a change where the caller does not see it. */
  async #hiddenHolders(
    access: CollectionAccess,
    plan: ReturnType<typeof indexPlanOf>,
    changes: readonly ResourceChange[],
  ): Promise<readonly string[]> {
    const found = changes
      .flatMap((change) => (change.kind === "put" ? claimsOf(plan, resourceOf(change)) : []))
      .map(async (claim) => {
        const holder = await this.#store.findUnique(access.name, claim);
        const index = plan.indexes.find(({ name }) => name === claim.field);
        return holder && { holder, fields: index?.fields.map(({ field }) => field) ?? [] };
      });
    const holders = (await Promise.all(found)).filter((each) => each !== undefined);
    const hidden = await access.decide(() =>
      holders.filter(({ holder, fields }) => !mayKnow(access, holder, fields)),
    );
    return [...new Set(hidden.map(({ holder }) => holder.id))];
  }
}

/** The resource that a change would create. */
export const resourceOf = ({ id, at, ...change }: ResourceChange): Resource => ({
  id,
  revision: 0,
  createdAt: at,
  updatedAt: at,
  fields: change.kind === "put" ? change.fields : "{}",
});

const seesAll = (access: CollectionAccess): boolean =>
  access.require("read") === undefined && access.view("read").isWhole;

/** Whether the caller may read the resource with these fields or, where it does not read it, replace it. */
function mayKnow(access: CollectionAccess, resource: Resource, fields: readonly string[]): boolean {
  const mask = access.maskNow(resource);
  if (mask !== undefined) return fields.every((field) => mask.shows(field));
  return access.require("update") === undefined && access.includes("update", resource);
}
