// A view: what one caller may do with a verb in a collection, by the grants that apply to it.

import { IndexedContent } from "../model/query/index-plan.ts";
import {
  holds,
  type Predicate,
  type Related,
  type RelatedFacts,
} from "../model/query/predicate.ts";
import { relatedIn } from "../model/query/related.ts";
import { simplified } from "../model/query/simplify.ts";
import { keyOf, type ValueKind } from "../model/query/sort-key.ts";
import type { Resource } from "../model/resource.ts";
import type { Verb } from "../model/token.ts";
import type { ReadState } from "../store/store.ts";
import type { RuleFacts } from "./rule-facts.ts";

/** A grant that applies to a caller, with the caller's values. */
export interface AppliedGrant {
  readonly name: string;
  /** Its place in the definition's list. */
  readonly index: number;
  /** What must hold before, with the boundary and the owner; undefined for every resource. */
  readonly where: Predicate | undefined;
  /** What must hold after a write, with the boundary. */
  readonly check: Predicate | undefined;
  /** What may be read or changed; undefined for all fields. */
  readonly fields: readonly string[] | undefined;
  /** What a write gets. */
  readonly set: Readonly<Record<string, unknown>> | undefined;
}

/** The limit for the fields of resources that are kept parsed, in characters. Then all are forgotten. */
const maxKept = 4_000_000;
const maxSmall = 4_000;
let contents = new WeakMap<Resource, KeptContent>();
let kept = 0;

/** The parsed fields of a resource with their keys, and what was found last by the rules of a caller. */
class KeptContent extends IndexedContent {
  readonly #keys: { readonly field: string; readonly kind: ValueKind; readonly key: string }[] = [];
  view?: View;
  held?: readonly AppliedGrant[];

  keyAt(field: string, kind: ValueKind): string {
    for (const kept of this.#keys) if (kept.field === field && kept.kind === kind) return kept.key;
    const key = keyOf(kind, this.at(field));
    this.#keys.push({ field, kind, key });
    return key;
  }
}

/** Rules are evaluated again for each caller, so that the fields of small resources are parsed once. */
function contentOf(resource: Resource): KeptContent {
  const known = contents.get(resource);
  if (known !== undefined) return known;
  const content = new KeptContent(resource);
  const { length } = resource.fields;
  if (length > maxSmall) return content;
  kept += length;
  if (kept > maxKept) {
    contents = new WeakMap();
    kept = length;
  }
  contents.set(resource, content);
  return content;
}

/** One grant without conditions, as a shorthand gives. */
export const wholeGrant: AppliedGrant = {
  name: "",
  index: 0,
  where: undefined,
  check: undefined,
  fields: undefined,
  set: undefined,
};

/**
 * What decides about the answers of a view besides what is asked; each with those before. `collection`: its
 * resources alone, so that everyone who may read gets the same answer. `caller`: who asks. `related`: what
 * resources refer to. `time`: an answer is right for one request.
 */
export type Dependence = "collection" | "caller" | "related" | "time";

/** Whether the same caller gets the same answer until the collection changes. */
export const isRepeatable = (dependence: Dependence): boolean =>
  dependence === "collection" || dependence === "caller";

interface ViewOptions {
  readonly owner?: string | undefined;
  /** Whether a condition depends on the time. */
  readonly isTimed?: boolean;
}

let count = 0;

export class View {
  /** Different for each object; 0 for those that show all resources with all fields. */
  readonly id: number;
  /** The only owner whose resources it shows; undefined where grants of the definition decide. */
  readonly owner: string | undefined;
  readonly dependsOn: Dependence;
  /** Never empty: a caller to whom no grant applies has no view. */
  readonly grants: readonly AppliedGrant[];
  /** Whether the caller sees all resources with all fields. */
  readonly isWhole: boolean;
  /** What a resource must match; undefined for every resource. */
  readonly predicate: Predicate | undefined;
  /** The same as conditions of a query. */
  readonly conditions: readonly Predicate[];
  /** Whether it depends on what resources refer to. */
  readonly isRelated: boolean;
  /** The conditions on what resources refer to. */
  readonly related: readonly Related[];
  /** Whether fields are hidden from the caller in some resources. */
  readonly hidesFields: boolean;

  constructor(grants: readonly AppliedGrant[], { owner, isTimed = false }: ViewOptions = {}) {
    this.grants = grants;
    this.owner = owner;
    this.isWhole = grants.some(({ where, fields }) => where === undefined && fields === undefined);
    this.id = this.isWhole ? 0 : ++count;
    this.predicate = anyOf(grants);
    this.conditions = this.predicate ? simplified([this.predicate]) : [];
    this.related = grants.flatMap(({ where }) => (where ? relatedIn(where) : []));
    this.isRelated = this.related.length > 0;
    const dependence = this.isRelated ? "related" : "caller";
    this.dependsOn = this.isWhole ? "collection" : isTimed ? "time" : dependence;
    this.hidesFields = !this.isWhole && grants.some(({ fields }) => fields !== undefined);
  }

  /** Whether it is decided by the fields of resources, or for fields, and not by owners alone. */
  get isByFields(): boolean {
    return !this.isWhole && this.owner === undefined;
  }

  /** Returns the grants that hold for a resource. */
  holding(resource: Resource, facts?: RelatedFacts): readonly AppliedGrant[] {
    if (this.owner !== undefined) return resource.owner === this.owner ? this.grants : [];
    if (facts !== undefined) return this.#holding(new IndexedContent(resource, facts));
    const known = contentOf(resource);
    if (known.view !== this || known.held === undefined) {
      known.held = this.#holding(known);
      known.view = this;
    }
    return known.held;
  }

  #holding(content: IndexedContent): readonly AppliedGrant[] {
    return this.grants.filter(({ where }) => where === undefined || holds(where, content));
  }

  includes(resource: Resource, facts?: RelatedFacts): boolean {
    const { predicate, owner } = this;
    if (owner !== undefined) return resource.owner === owner;
    return predicate === undefined || holds(predicate, new IndexedContent(resource, facts));
  }

  /** Returns what shows the field, as a predicate; undefined when it is shown wherever the resource is. */
  shows(field: string): Predicate | undefined {
    const showing = this.grants.filter(({ fields }) => isNamed(field, fields));
    return showing.length === this.grants.length ? undefined : anyOf(showing);
  }

  /** Whether a grant shows the field. */
  names(field: string): boolean {
    return this.grants.some(({ fields }) => isNamed(field, fields));
  }

  /** Whether a grant shows the field or something in it. */
  namesIn(field: string): boolean {
    return this.grants.some(
      ({ fields }) =>
        isNamed(field, fields) || fields?.some((named) => named.startsWith(`${field}.`)),
    );
  }

  /** Whether every grant shows the field. */
  showsAlways(field: string): boolean {
    return this.isWhole || this.grants.every(({ fields }) => isNamed(field, fields));
  }
}

export const wholeView = new View([wholeGrant]);

export type Views = Readonly<Partial<Record<Verb, View>>>;

/** What one caller may do in a collection. The same object while neither the rules nor the caller's values change. */
export interface CallerRules {
  /** What a verb may be done with; undefined where no grant applies to the caller. */
  readonly views: Views;
  /** Which resources are there for a request with a verb. Others are treated as missing. */
  readonly seen: Views;
  /** Whether a write is one of the whole resource, also where the caller may not read it. */
  readonly writesWhole: boolean;
  /** What the boundary names, which cannot change after creation. */
  readonly fixedFields: readonly string[];
  /** The collections of the sets that the views depend on. */
  readonly sets: { readonly reads: readonly ReadState[] };
  /** Reads what a resource refers to; undefined where no rule asks for it. */
  readonly newFacts: (() => RuleFacts) | undefined;
}

/** The sets of a caller that has none. */
const noReads = { reads: [] };
const wholeViews: Views = {
  read: wholeView,
  create: wholeView,
  update: wholeView,
  delete: wholeView,
};

/** What an administrator may do. */
export const everything: CallerRules = {
  views: wholeViews,
  seen: wholeViews,
  writesWhole: true,
  fixedFields: [],
  sets: noReads,
  newFacts: undefined,
};

/** Returns undefined when one of the grants has no condition. Without grants nothing matches. */
function anyOf(grants: readonly AppliedGrant[]): Predicate | undefined {
  const parts: Predicate[] = [];
  for (const { where } of grants) {
    if (where === undefined) return undefined;
    parts.push(where);
  }
  return parts.length === 1 ? parts[0] : { anyOf: parts };
}

/** These are always shown. */
const always = ["id", "createdAt"];

/** Whether a list of fields contains the field, or an object or array that it is in. */
export function isNamed(field: string, fields: readonly string[] | undefined): boolean {
  if (fields === undefined || always.includes(field)) return true;
  return fields.some(
    (named) => field === named || field.startsWith(`${named}.`) || field.startsWith(`${named}[]`),
  );
}
