// Checks the references of planned changes, and plans what follows when a resource is deleted that others refer to.

import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { kindOf } from "../../model/field-kind.ts";
import { type Principal, system } from "../../model/principal.ts";
import { type FieldError, Problem } from "../../model/problem.ts";
import type { Query } from "../../model/query/query.ts";
import { equalTo, keyOf } from "../../model/query/sort-key.ts";
import {
  addressesIn,
  danglingError,
  findReferences,
  type Reference,
  referencesOf,
  type Target,
  withoutReference,
} from "../../model/reference.ts";
import type { Resource } from "../../model/resource.ts";
import type { Put, ReadState, Remove, ResourceChange, Store } from "../../store/store.ts";
import type { Access } from "../access.ts";
import { CollectionAccess } from "../collection-access.ts";
import { batchLimits } from "./batch-memory.ts";
import {
  dangling,
  requiredReference,
  restricted,
  tooLarge,
  tooMany,
} from "./reference-problems.ts";
import type { States } from "./states.ts";
import { accept, type Named } from "./validate.ts";

/** The resources that refer to another are read in pages, of which only what is needed is kept. */
const pageLimit = 100;
const pageBytes = 8 * 1024 * 1024;

export interface FollowContext {
  readonly at: number;
  /** The prefix of every address. */
  readonly base: string;
  /** How many other resources one request may delete or change because of its deletions. */
  readonly maxCascade: number;
}

/** A resource that refers to one that is deleted. */
interface Referring {
  readonly collection: string;
  readonly rules: Rules;
  readonly reference: Reference;
  readonly resource: Resource;
}

/** A resource that loses references. */
interface Unset extends Pick<Referring, "collection" | "rules" | "resource"> {
  fields: string;
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
  return change.kind === "put" && referencesIn(rules).length > 0;
}

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

  /**
   * Plans what follows from a deletion. Returns the resources that prevent it unless they are deleted, too,
   * or a problem when too many would change.
   */
  async remove(access: CollectionAccess, id: string): Promise<readonly Referring[] | Problem> {
    const restricting: Referring[] = [];
    const targets = [{ collection: access.name, id, rules: access.rules }];
    for (let target = targets.shift(); target !== undefined; target = targets.shift())
      for await (const referring of this.#referringTo(target, target.rules)) {
        if (referring instanceof Problem) return referring;
        const { collection, rules, resource, reference } = referring;
        if (reference.onDelete === "restrict") restricting.push(referring);
        else if (reference.onDelete === "unset") {
          const tooLarge = this.#removeReference(referring, target.id);
          if (tooLarge !== undefined) return tooLarge;
        } else {
          this.#count++;
          this.#states.follow(this.#removalOf(referring), { ...resource, fields: "" });
          targets.push({ collection, id: resource.id, rules });
        }
      }
    return restricting;
  }

  /** Plans the changes of resources that lose references. Returns a problem when one is not valid without. */
  finishRemovals(): Problem | undefined {
    const { at, base } = this.#context;
    for (const { collection, rules, resource, fields } of this.#unset.values()) {
      const { id, revision } = resource;
      if (this.#states.after({ collection, id }) === null) continue;
      const target = { address: `${base}/${collection}/${id}`, current: resource };
      const accepted = accept(new CollectionAccess(system, collection, rules), fields, target);
      if (accepted instanceof Problem) return requiredReference(collection);
      const put = { kind: "put", collection, id, ...accepted, at, expect: revision } as const;
      this.#states.follow({ ...put, rules: rules.version }, resource);
    }
    return undefined;
  }

  /** Returns a problem when resources that the plan does not delete prevent a deletion. */
  async restriction(
    { principal }: CollectionAccess,
    restricting: readonly Referring[],
  ): Promise<Problem | undefined> {
    const remaining = restricting.filter(
      ({ collection, resource: { id } }) => this.#states.after({ collection, id }) !== null,
    );
    if (remaining.length === 0) return undefined;
    const readable = await Promise.all(
      remaining.map(async ({ collection, resource }) => {
        const access = await this.#access.collection(principal, collection);
        const isShown = await access.decide(() => access.mayRead(resource));
        return isShown ? [`/${collection}/${resource.id}`] : [];
      }),
    );
    return restricted(readable.flat());
  }

  /**
   * Returns a problem when the resource refers to one that does not exist, or that the caller may not read;
   * otherwise the change, with what that was decided by. What it refers to already was not named by this
   * caller; by rules, it stays also where the caller does not see it, unless the caller guesses it.
   */
  async check(access: CollectionAccess, planned: Put & Named): Promise<Put | Problem> {
    const { named, ...change } = planned;
    const references = referencesIn(access.rules);
    const stored = this.#states.at(access.name, change.id)?.stored;
    const isKept =
      stored !== undefined && stored.fields !== "" && (access.bound || access.mayRead(stored));
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
    if (access.bound === undefined) return [];
    const { revision } = resource;
    const own = planned === undefined ? [{ collection, id, revision }] : [];
    return [...own, ...(access.ruleReads ?? [])];
  }

  /** Yields the resources that refer to a target and that the plan does not write. */
  async *#referringTo(
    target: Target,
    rules: Rules | undefined,
  ): AsyncGenerator<Referring | Problem> {
    for (const collection of rules?.referrers ?? []) {
      const referring = await this.#store.rules(collection);
      if (referring === undefined) continue;
      for (const reference of referencesIn(referring))
        if (reference.collection === target.collection)
          yield* this.#pages({ collection, rules: referring, reference }, target.id);
    }
  }

  async *#pages(
    from: Omit<Referring, "resource">,
    id: string,
  ): AsyncGenerator<Referring | Problem> {
    const { collection, rules, reference } = from;
    const isRestricting = reference.onDelete === "restrict";
    let start: Query["start"] | undefined = 0;
    while (start !== undefined) {
      const query = queryFor(rules, reference, id, start);
      const page = await this.#store.query(collection, query);
      const following = this.#count + this.#unset.size + (page?.total ?? 0);
      if (!isRestricting && following > this.#context.maxCascade)
        return yield tooMany(following, this.#context.maxCascade);
      for (const resource of page?.resources ?? [])
        if (this.#states.after({ collection, id: resource.id }) === undefined)
          yield { ...from, resource };
      // A few are enough to say what prevents the deletion.
      start = isRestricting ? undefined : page?.last;
    }
  }

  #removalOf({ collection, rules, resource: { id, revision } }: Referring): Remove {
    const { at } = this.#context;
    return { kind: "remove", collection, id, at, expect: revision, rules: rules.version };
  }

  #removeReference(referring: Referring, id: string): Problem | undefined {
    const { collection, rules, resource, reference } = referring;
    const address = `${collection}/${resource.id}`;
    const known = this.#unset.get(address);
    if (known === undefined) this.#bytes += resource.fields.length;
    if (this.#bytes > batchLimits.maxChangedBytes) return tooLarge;
    const fields = withoutReference((known ?? resource).fields, reference, id);
    this.#unset.set(address, { collection, rules, resource, fields });
    return undefined;
  }
}

/**
 * Follows the references of planned changes. Deletions come first, because they decide what is left to
 * refer to. Problems replace changes.
 */
export async function followAll(
  follower: ReferenceFollower,
  operations: readonly { readonly access: CollectionAccess }[],
  planned: readonly (ResourceChange | Problem)[],
): Promise<readonly (ResourceChange | Problem)[]> {
  const result = [...planned];
  const restricting = new Map<number, readonly Referring[]>();
  const followed = [...operations.entries()].flatMap(([index, { access }]) => {
    const change = planned[index];
    return isFollowed(change, access.rules) ? [{ index, access, change }] : [];
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

/** The total is only asked for with the first page. */
const queryFor = (
  { definition }: Rules,
  { field }: Reference,
  id: string,
  start: Query["start"],
): Query => {
  const kind = kindOf(JSON.parse(definition).schema, field);
  return {
    conditions: [{ field, kind, spans: [equalTo(keyOf(kind, id))] }],
    ...{ words: [], sortings: [], isNewestFirst: false, start, limit: pageLimit },
    isCounted: start === 0,
    maxBytes: pageBytes,
  };
};
