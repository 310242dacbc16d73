// Plans `expand`: which references a request follows, level by level, and what the caller may read there.

import type { Collection } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import type { Principal } from "../model/principal.ts";
import { type FieldError, type ParameterError, Problem } from "../model/problem.ts";
import {
  errorAt,
  type ListRequest,
  listRequestLimits,
  type NamedField,
  pageLimits,
} from "../model/query/list-request.ts";
import { firstReference, type Reference, referencesOf } from "../model/reference.ts";
import type { Store } from "../store/store.ts";
import type { Access } from "./access.ts";
import { invalidQuery } from "./build-query.ts";
import type { CollectionAccess } from "./collection-access.ts";
import { ExpandedPage, type Expansion, type ExpansionLimits, maxTargets } from "./expanded-page.ts";
import type { ListResult } from "./lists.ts";
import { readableRules } from "./related-fields.ts";
import { isRepeatable } from "./view.ts";

/** A collection that is referred to, before anything in it is read. */
interface Referred {
  readonly access: CollectionAccess;
  /** Undefined where the store cannot tell at once whether it has changed. */
  readonly collection: Collection | undefined;
}

/** Resources, and how the caller sees them. */
type Shown = Pick<ListResult, "resources" | "maskOf">;

export type ExpandRequest = Pick<ListRequest, "expand" | "isFromUrl">;

export interface ExpansionPlan extends ExpandRequest {
  readonly expansions: readonly Expansion[];
  /** By name. */
  readonly referred: ReadonlyMap<string, Referred>;
}

export class Expander {
  readonly #store: Store;
  readonly #access: Access;
  readonly #base: string;

  /** `base` is the prefix of every address. */
  constructor(store: Store, access: Access, base: string) {
    this.#store = store;
    this.#access = access;
    this.#base = base;
  }

  /** Checks the paths against the definitions; a problem lists every error. */
  async plan(
    access: CollectionAccess,
    { expand, isFromUrl }: ExpandRequest,
  ): Promise<ExpansionPlan | Problem> {
    const planner = new Planner(this.#store, this.#access, access.principal);
    const paths = expand.map((named) => ({ ...named, rest: named.field }));
    const expansions = await planner.level(access, paths, 1);
    const { errors, referred } = planner;
    return errors.length > 0
      ? invalidQuery({ isFromUrl }, errors)
      : { expand, isFromUrl, expansions, referred };
  }

  /**
   * Returns the text of `_expanded` for each resource. Returns undefined when the resources with what
   * they refer to are larger than `maxBytes`, or when there is no room for them.
   */
  read(
    { expansions }: ExpansionPlan,
    { resources, maskOf }: Shown,
    { maxBytes = pageLimits.maxBytes, reserve = () => true }: Partial<ExpansionLimits> = {},
  ): Promise<readonly string[] | undefined> {
    const page = new ExpandedPage(this.#store, this.#base, { maxBytes, reserve }, maskOf);
    return page.read(expansions, resources);
  }

  /** Does both for a list; returns undefined when there is nothing to expand. */
  async expand(listed: ListResult): Promise<readonly string[] | undefined | Problem> {
    const { target, listRequest } = listed;
    if (listRequest.expand.length === 0) return undefined;
    const plan = await this.plan(target.access, listRequest);
    if (plan instanceof Problem) return plan;
    return (await this.read(plan, listed)) ?? expandedTooLarge(plan);
  }

  /** Whether the caller may read the same as in an earlier plan, and nothing has changed since. */
  isCurrentFor({ principal }: CollectionAccess, { referred }: ExpansionPlan): boolean {
    for (const [name, earlier] of referred) {
      const access = this.#access.collection(principal, name);
      if (access instanceof Promise || earlier.collection === undefined) return false;
      const isSame =
        access.rules === earlier.access.rules &&
        readableRules(access) === readableRules(earlier.access) &&
        access.audienceKey === earlier.access.audienceKey &&
        isRepeatable(access.view("read").dependsOn) &&
        this.#store.collection(name) === earlier.collection;
      if (!isSame) return false;
    }
    return true;
  }
}

/** A path, and what is left of it at a level. */
interface RestOfPath extends NamedField {
  readonly rest: string;
}

class Planner {
  readonly errors: (FieldError | ParameterError)[] = [];
  readonly referred = new Map<string, Referred>();
  readonly #store: Store;
  readonly #access: Access;
  readonly #principal: Principal;

  constructor(store: Store, access: Access, principal: Principal) {
    this.#store = store;
    this.#access = access;
    this.#principal = principal;
  }

  /** Plans what the paths follow from the resources of a collection. */
  async level(
    from: CollectionAccess,
    paths: readonly RestOfPath[],
    depth: number,
  ): Promise<readonly Expansion[]> {
    const references = shownReferences(from);
    const followed = new Map<Reference, RestOfPath[]>();
    for (const path of paths) {
      const reference = firstReference(references, path.rest);
      if (depth > listRequestLimits.maxExpandDepth) this.#addError(path, tooDeep);
      else if (reference === undefined) this.#addError(path, explainUnknown(references, path));
      else {
        const rest = path.rest.slice(reference.field.length + 1);
        const inner = followed.get(reference) ?? [];
        followed.set(reference, rest === "" ? inner : [...inner, { ...path, rest }]);
      }
    }
    return Promise.all(
      [...followed].map(async ([reference, inner]): Promise<Expansion> => {
        const { access } = await this.#refer(reference.collection);
        // The paths beyond what the caller may not read are not checked: that would reveal its definition.
        if (readableRules(access) === undefined)
          return { reference, access, isReadable: false, inner: [] };
        const next = inner.length === 0 ? [] : await this.level(access, inner, depth + 1);
        return { reference, access, isReadable: true, inner: next };
      }),
    );
  }

  async #refer(name: string): Promise<Referred> {
    const known = this.referred.get(name);
    if (known !== undefined) return known;
    const access = await this.#access.collection(this.#principal, name);
    const isTold = this.#store.version?.() !== undefined;
    const collection = isTold ? await this.#store.collection(name) : undefined;
    // Another path can have been first meanwhile.
    const referred = this.referred.get(name) ?? { access, collection };
    this.referred.set(name, referred);
    return referred;
  }

  #addError({ place }: NamedField, detail: string): void {
    this.errors.push(errorAt(place, detail));
  }
}

/** The references that the caller is shown in some resources. */
function shownReferences(access: CollectionAccess): readonly Reference[] {
  if (access.rules === undefined) return [];
  const view = access.view("read");
  return referencesOf(definitionOf(access.rules).references).filter(({ field }) =>
    view.names(field),
  );
}

const tooDeep = `expand follows up to ${listRequestLimits.maxExpandDepth} references, one after the other`;

function explainUnknown(references: readonly Reference[], { field, rest }: RestOfPath): string {
  const where = rest === field ? "this collection" : `the collection before "${rest}"`;
  const named = rest === field ? `"${field}"` : `"${rest}" in "${field}"`;
  return references.length === 0
    ? `${named} is not a reference: ${where} has none`
    : `${named} is not a reference; those of ${where} are: ${references.map((one) => one.field).join(", ")}`;
}

/** The resources and what they refer to have too many bytes. */
export function expandedTooLarge(request: ExpandRequest): Problem {
  const [first] = request.expand;
  const size = `${pageLimits.maxBytes / 1024 / 1024} MiB`;
  const detail = "use a smaller limit, or expand fewer references";
  return invalidQuery(
    request,
    first === undefined ? [] : [errorAt(first.place, detail)],
    `The response would be larger than ${size}, or have more than ${maxTargets} expanded resources.`,
  );
}
