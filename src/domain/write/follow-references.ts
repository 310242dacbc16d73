// Checks the references of planned changes, and plans what follows when a resource is deleted that others refer to.

import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { type Principal, system } from "../../model/principal.ts";
import { type FieldError, Problem } from "../../model/problem.ts";
import type { Predicate } from "../../model/query/predicate.ts";
import {
  addressesIn,
  danglingError,
  findReferences,
  type Reference,
  type ResourceAddress,
  referencesOf,
  withoutReference,
} from "../../model/reference.ts";
import type { Resource } from "../../model/resource.ts";
import type { Put, ReadState, Remove, ResourceChange, Store } from "../../store/store.ts";
import type { Access } from "../access.ts";
import { CollectionAccess } from "../collection-access.ts";
import { everything } from "../view.ts";
import { batchMemoryLimits } from "./batch-memory.ts";
import {
  dangling,
  maxNamed,
  requiredReference,
  restricted,
  tooLarge,
  tooMany,
} from "./reference-problems.ts";
import { type Referrer, referringTo } from "./referring.ts";
import type { States } from "./states.ts";
import { accept, type NamedAddresses } from "./validate.ts";

export interface FollowContext {
  readonly at: number;
  /** The prefix of every address. */
  readonly base: string;
  /** How many other resources one request may delete or change because of its deletions. */
  readonly maxCascade: number;
}

/** What prevents the deletion of a resource: those that refer to it, and are not deleted, too. */
interface Restriction {
  readonly referrer: Referrer;
  readonly id: string;
}

/** A resource that loses references. */
interface Unset extends Pick<Referrer, "collection" | "rules"> {
  readonly resource: Resource;
  readonly fields: string;
}

const referencesIn = (rules: Rules | undefined): readonly Reference[] =>
  rules === undefined ? [] : referencesOf(definitionOf(rules).references);

/** Whether references have to be followed for a change by these rules. Operations that set one come as a put. */
export function isFollowed(
  change: ResourceChange | Problem | undefined,
  rules: Rules | undefined,
): change is Put | Remove {
  if (change === undefined || change instanceof Problem) return false;
  if (change.kind === "remove") return rules?.referrers !== undefined;
  return isPut(change) && referencesIn(rules).length > 0;
}

const isPut = (change: ResourceChange | Problem | undefined): change is Put =>
  change !== undefined && !(change instanceof Problem) && change.kind === "put";

/** Follows the references of one plan: first all deletions, then what else it writes. */
export class ReferenceFollower {
  readonly #store: Store;
  readonly #access: Access;
  readonly #context: FollowContext;
  readonly #states: States;
  readonly #unset = new Map<string, Unset>();
  #count = 0;
  #bytes = 0;

  constructor(store: Store, access: Access, context: FollowContext, states: States) {
    this.#store = store;
    this.#access = access;
    this.#context = context;
    this.#states = states;
  }

  /** Plans what follows from a deletion. Returns what can prevent it, or a problem when too many would change. */
  async remove(access: CollectionAccess, id: string): Promise<readonly Restriction[] | Problem> {
    const restrictions: Restriction[] = [];
    const targets = [{ collection: access.name, id, rules: access.rules }];
    for (let target = targets.shift(); target !== undefined; target = targets.shift())
      for (const referrer of await this.#referrersOf(target, target.rules)) {
        if (referrer.reference.onDelete === "restrict") {
          restrictions.push({ referrer, id: target.id });
          continue;
        }
        const removed = await this.#follow(referrer, target.id);
        if (removed instanceof Problem) return removed;
        const { collection, rules } = referrer;
        targets.push(...removed.map((removedId) => ({ collection, id: removedId, rules })));
      }
    return restrictions;
  }

  /** Plans what becomes of those that refer to a deleted resource. Returns the ids of those that are deleted. */
  async #follow(referrer: Referrer, id: string): Promise<readonly string[] | Problem> {
    const { collection, reference } = referrer;
    const { maxCascade } = this.#context;
    const removed: string[] = [];
    for await (const { resource, left } of referringTo(this.#store, referrer, id)) {
      if (this.#states.after({ collection, id: resource.id }) !== undefined) continue;
      if (reference.onDelete === "unset") {
        const tooLarge = this.#removeReference(referrer, resource, id);
        if (tooLarge !== undefined) return tooLarge;
      } else {
        this.#remove(referrer, resource);
        removed.push(resource.id);
      }
      const count = this.#count + this.#unset.size;
      if (count > maxCascade) return tooMany(count + left, maxCascade);
    }
    return removed;
  }

  /** Plans the changes of resources that lose references. Returns a problem when one is not valid without. */
  finishRemovals(): Problem | undefined {
    const { at, base } = this.#context;
    for (const { collection, rules, resource, fields } of this.#unset.values()) {
      const { id, revision } = resource;
      const target = { address: `${base}/${collection}/${id}`, current: resource };
      const accepted = accept(
        new CollectionAccess(system, collection, rules, everything),
        fields,
        target,
      );
      if (accepted instanceof Problem) return requiredReference(collection);
      const put = { kind: "put", collection, id, ...accepted, at, expect: revision } as const;
      this.#states.follow({ ...put, rules: rules.version }, resource);
    }
    return undefined;
  }

  /** Returns a problem when resources that the plan does not delete prevent a deletion. */
  async restriction(
    { principal }: CollectionAccess,
    restrictions: readonly Restriction[],
  ): Promise<Problem | undefined> {
    const found = await Promise.all(restrictions.map((each) => this.#remaining(each, 1)));
    if (found.every(({ length }) => length === 0)) return undefined;
    const named = restrictions.map(async (each) => {
      const { collection } = each.referrer;
      const access = await this.#access.collection(principal, collection);
      if (access.require("read") !== undefined) return [];
      const ids = await this.#remaining(each, maxNamed + 1, access.view("read").conditions);
      return ids.map((id) => `/${collection}/${id}`);
    });
    return restricted([...new Set((await Promise.all(named)).flat())]);
  }

  /** Returns the ids of the first resources that refer to a deleted one, and that the plan leaves so. */
  async #remaining(
    { referrer, id }: Restriction,
    most: number,
    conditions: readonly Predicate[] = [],
  ): Promise<readonly string[]> {
    const { collection } = referrer;
    const ids: string[] = [];
    for await (const { resource } of referringTo(this.#store, referrer, id, conditions)) {
      const isWritten = this.#states.after({ collection, id: resource.id }) !== undefined;
      // What loses another reference keeps this one.
      if (!isWritten || this.#unset.has(`${collection}/${resource.id}`)) ids.push(resource.id);
      if (ids.length === most) break;
    }
    return ids;
  }

  /**
   * Returns a problem when the resource refers to one that does not exist, or that the caller may not read;
   * otherwise the change, with what that was decided by. What it refers to already was not named by this
   * caller; by rules, it stays also where the caller does not see it, unless the caller guesses it.
   */
  async check(access: CollectionAccess, planned: Put & NamedAddresses): Promise<Put | Problem> {
    const { named, ...change } = planned;
    const references = referencesIn(access.rules);
    const stored = this.#states.at(access.name, change.id)?.stored;
    const isKept =
      stored !== undefined &&
      stored.fields !== "" &&
      (!access.caller.writesWhole || access.mayRead(stored));
    const known = isKept ? addressesIn(references, stored.fields) : undefined;
    const kept = named && known ? new Set(known).difference(named) : known;
    const found = findReferences(references, JSON.parse(change.fields));
    const checked = await Promise.all(
      found.map(async (each): Promise<readonly ReadState[] | FieldError> => {
        const { value, reference } = each;
        const { collection } = reference;
        const by = kept?.has(`${collection}/${value}`) ? system : access.principal;
        const reads = typeof value === "string" && (await this.#readTarget(by, collection, value));
        return reads || danglingError(each);
      }),
    );
    const errors = checked.flatMap((each) => ("pointer" in each ? [each] : []));
    if (errors.length > 0) return dangling(errors);
    const reads = checked.flatMap((each) => ("pointer" in each ? [] : each));
    if (reads.length === 0) return change;
    return { ...change, unchanged: [...(change.unchanged ?? []), ...reads] };
  }

  /** Returns what the right to refer to a resource was decided by; undefined without it. */
  async #readTarget(
    principal: Principal,
    collection: string,
    id: string,
  ): Promise<readonly ReadState[] | undefined> {
    const planned = this.#states.after({ collection, id });
    const [access, resource] = await Promise.all([
      this.#access.collection(principal, collection),
      planned === undefined ? this.#store.find(collection, id) : planned,
    ]);
    if (resource === null || resource === undefined) return undefined;
    if (!(await access.decide(() => access.mayRead(resource)))) return undefined;
    const { revision } = resource;
    const isDecidedByState = planned === undefined && !access.view("read").isWhole;
    const own = isDecidedByState ? [{ collection, id, revision }] : [];
    return [...own, ...(access.ruleReads ?? [])];
  }

  /** Returns the references to the collection of a target. */
  async #referrersOf(
    { collection: referred }: ResourceAddress,
    rules: Rules | undefined,
  ): Promise<readonly Referrer[]> {
    const found = (rules?.referrers ?? []).map(async (collection) => {
      const referring = await this.#store.rules(collection);
      if (referring === undefined) return [];
      return referencesIn(referring)
        .filter((reference) => reference.collection === referred)
        .map((reference) => ({ collection, rules: referring, reference }));
    });
    return (await Promise.all(found)).flat();
  }

  #remove({ collection, rules }: Referrer, resource: Resource): void {
    const { id, revision } = resource;
    const { at } = this.#context;
    this.#count++;
    this.#unset.delete(`${collection}/${id}`);
    this.#states.follow(
      { kind: "remove", collection, id, at, expect: revision, rules: rules.version },
      { ...resource, fields: "" },
    );
  }

  #removeReference(
    { collection, rules, reference }: Referrer,
    resource: Resource,
    id: string,
  ): Problem | undefined {
    const address = `${collection}/${resource.id}`;
    const known = this.#unset.get(address);
    if (known === undefined) this.#bytes += resource.fields.length;
    if (this.#bytes > batchMemoryLimits.maxChangedBytes) return tooLarge;
    const fields = withoutReference((known ?? resource).fields, reference, id);
    this.#unset.set(address, { collection, rules, resource, fields });
    return undefined;
  }
}

/**
 * Follows the references of planned changes. Deletions come first, because they decide what is left to
 * refer to. Problems replace changes. In bulk, each change can be committed without the others.
 */
export async function followAll(
  follower: ReferenceFollower,
  operations: readonly { readonly access: CollectionAccess }[],
  planned: readonly (ResourceChange | Problem)[],
  isBulk: boolean,
): Promise<readonly (ResourceChange | Problem)[]> {
  const result = [...planned];
  const restricting = new Map<number, readonly Restriction[]>();
  const followed = [...operations.entries()].flatMap(([index, { access }]) => {
    const change = planned[index];
    if (!isFollowed(change, access.rules) || (!isBulk && isReplaced(index, planned))) return [];
    return [{ index, access, change }];
  });
  for (const { index, access, change } of followed) {
    if (change.kind === "put") continue;
    const found = await follower.remove(access, change.id);
    if (found instanceof Problem) result[index] = found;
    else restricting.set(index, found);
  }
  const invalid = follower.finishRemovals();
  const [first] = restricting.keys();
  if (invalid !== undefined && first !== undefined) result[first] = invalid;
  await Promise.all(
    followed.map(async ({ index, access, change }) => {
      const checked =
        change.kind === "put"
          ? await follower.check(access, change)
          : await follower.restriction(access, restricting.get(index) ?? []);
      if (checked !== undefined) result[index] = checked;
    }),
  );
  return result;
}

/** Whether a later change of a batch leaves another state: references hold after all of its changes. */
function isReplaced(index: number, planned: readonly (ResourceChange | Problem)[]): boolean {
  const change = planned[index];
  if (!isPut(change)) return false;
  const isSame = (later: ResourceChange | Problem) =>
    "id" in later && later.collection === change.collection && later.id === change.id;
  return planned.slice(index + 1).some(isSame);
}
