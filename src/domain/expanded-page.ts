// Renders `_expanded`: finds what the resources of a page refer to, level by level, and renders each once.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { eachInTurns, nextTurn } from "../lib/turns.ts";
import { isOfElements } from "../model/field-kind.ts";
import { valueIn } from "../model/query/field-path.ts";
import { projectionOf } from "../model/query/projection.ts";
import type { Reference } from "../model/reference.ts";
import { withText } from "../model/render.ts";
import { expandedMember, type Resource, sizeOf } from "../model/resource.ts";
import type { Store } from "../store/store.ts";
import type { CollectionAccess } from "./collection-access.ts";
import type { Mask } from "./mask.ts";

/** The limit for the different resources that one response can expand. */
export const maxTargets = 10_000;

/** So many resources of each collection are read together. */
const maxAtOnce = 200;

/** Of a larger resource only the member with the reference is parsed, because all take much memory. */
const maxParsedChars = 65_536;

/** A reference that is expanded. */
export interface Expansion {
  readonly reference: Reference;
  /** The access to the collection that it refers to. */
  readonly access: CollectionAccess;
  readonly isReadable: boolean;
  /** What is expanded in the resources that it refers to. */
  readonly inner: readonly Expansion[];
}

/** Something that is referred to. */
interface ExpandedTarget {
  readonly id: string;
  /** Undefined before it is found, and when there is nothing that the caller may read. */
  resource: Resource | undefined;
  /** Its text without what is expanded in it. */
  view: string | undefined;
  /** Its texts with what is expanded in it. */
  texts: Map<Expansion, string> | undefined;
}

/** What is looked for in a collection. */
interface WantedTargets {
  readonly access: CollectionAccess;
  readonly targets: ExpandedTarget[];
}

/** Resources, and a reference in them to follow. */
interface ExpansionStep {
  readonly expansion: Expansion;
  readonly resources: readonly Resource[];
}

const newTarget = (id: string): ExpandedTarget => ({
  id,
  resource: undefined,
  view: undefined,
  texts: undefined,
});

/** A value that is no id, or that the caller may not follow. */
const nothing = newTarget("");

export interface ExpansionLimits {
  readonly maxBytes: number;
  /** Reserves memory for all that was found so far. Returns false when there is not so much. */
  readonly reserve: (totalBytes: number) => boolean;
}

export class ExpandedPage {
  readonly #store: Store;
  readonly #base: string;
  readonly #maxBytes: number;
  readonly #reserve: ExpansionLimits["reserve"];
  /** How the caller sees the resources that are expanded. */
  readonly #maskOf: (resource: Resource) => Mask;
  /** How the caller sees what they refer to. */
  readonly #masks = new Map<Resource, Mask>();
  /** By collection and id. */
  readonly #known = new Map<string, Map<string, ExpandedTarget>>();
  readonly #targets = new Map<Expansion, Map<Resource, readonly ExpandedTarget[]>>();
  readonly #fields = new Map<Resource, unknown>();
  readonly #textBytes = new Map<Expansion, number>();
  #count = 0;
  #bytes = 0;
  #isTooLarge = false;

  constructor(
    store: Store,
    base: string,
    { maxBytes, reserve }: ExpansionLimits,
    maskOf: (resource: Resource) => Mask,
  ) {
    this.#maskOf = maskOf;
    this.#store = store;
    this.#base = base;
    this.#maxBytes = maxBytes;
    this.#reserve = reserve;
  }

  /** Returns a text for each resource, or undefined when it gets too large. */
  async read(
    expansions: readonly Expansion[],
    resources: readonly Resource[],
  ): Promise<readonly string[] | undefined> {
    let steps: readonly ExpansionStep[] = expansions.map((expansion) => ({ expansion, resources }));
    while (steps.length > 0) {
      await this.#find(steps);
      if (this.#isTooLarge) return undefined;
      steps = steps.flatMap((step) => this.#next(step));
    }
    let bytes = 0;
    const texts: string[] = [];
    await eachInTurns(resources, sizeOf, (resource) => {
      if (this.#isTooLarge) return;
      const text = this.#expanded(expansions, resource);
      bytes += text.length + sizeOf(this.#maskOf(resource).shownOf(resource));
      if (bytes > this.#maxBytes) this.#isTooLarge = true;
      texts.push(text);
    });
    return this.#isTooLarge ? undefined : texts;
  }

  /** Finds what the resources of one level refer to. */
  async #find(steps: readonly ExpansionStep[]): Promise<void> {
    const wanted = new Map<string, WantedTargets>();
    for (const step of steps) await this.#addTargets(step, wanted);
    const groups = [...wanted.values()];
    const most = Math.max(...groups.map(({ targets }) => targets.length));
    for (let start = 0; start < most && !this.#isTooLarge; start += maxAtOnce) {
      // Other requests get a turn.
      if (start > 0) await nextTurn();
      const reads = groups.map((group) => this.#read(group, start));
      if (reads.some((read) => read instanceof Promise)) await Promise.all(reads);
    }
  }

  /** Follows the references, and adds what is not looked for yet. */
  async #addTargets(
    { expansion, resources }: ExpansionStep,
    wanted: Map<string, WantedTargets>,
  ): Promise<void> {
    const { access } = expansion;
    const { name } = access;
    const known = this.#known.get(name) ?? new Map<string, ExpandedTarget>();
    const targets = wanted.get(name)?.targets ?? [];
    const found = new Map<Resource, readonly ExpandedTarget[]>();
    const targetOf = (value: unknown): ExpandedTarget => {
      if (typeof value !== "string" || !expansion.isReadable) return nothing;
      const before = known.get(value);
      if (before !== undefined) return before;
      const target = newTarget(value);
      known.set(value, target);
      targets.push(target);
      return target;
    };
    const before = targets.length;
    await eachInTurns(resources, sizeOf, (resource) => {
      found.set(resource, this.#valuesIn(expansion, resource).map(targetOf));
    });
    this.#known.set(name, known);
    this.#targets.set(expansion, found);
    wanted.set(name, { access, targets });
    this.#count += targets.length - before;
    if (this.#count > maxTargets) this.#isTooLarge = true;
  }

  #read({ access, targets }: WantedTargets, start: number): MaybePromise<void> {
    const some = targets.slice(start, start + maxAtOnce);
    if (some.length === 0) return undefined;
    const ids = some.map(({ id }) => id);
    return then(this.#store.findAll(access.name, ids), (found) => {
      const masksNow = () => found.map((resource) => resource && access.maskNow(resource));
      return then(access.decide(masksNow), (masks) => {
        for (const [index, target] of some.entries()) this.#add(target, found[index], masks[index]);
      });
    });
  }

  /** Only what is shown is kept, and counts for the size. */
  #add(target: ExpandedTarget, resource: Resource | undefined, mask: Mask | undefined): void {
    if (resource === undefined || mask === undefined) return;
    const shown = mask.shownOf(resource);
    target.resource = shown;
    this.#masks.set(shown, mask);
    this.#bytes += sizeOf(shown);
    if (this.#bytes > this.#maxBytes || !this.#reserve(this.#bytes)) this.#isTooLarge = true;
  }

  /** Returns the steps from what was found. */
  #next({ expansion, resources }: ExpansionStep): readonly ExpansionStep[] {
    if (expansion.inner.length === 0) return [];
    const found = new Set<Resource>();
    for (const resource of resources)
      for (const target of this.#targetsOf(expansion, resource))
        if (target.resource !== undefined) found.add(target.resource);
    return expansion.inner.map((inner) => ({ expansion: inner, resources: [...found] }));
  }

  /** In document order: one for each element of an array. */
  #targetsOf(expansion: Expansion, resource: Resource): readonly ExpandedTarget[] {
    return this.#targets.get(expansion)?.get(resource) ?? [];
  }

  #valuesIn({ reference: { field } }: Expansion, resource: Resource): readonly unknown[] {
    const mask = this.#masks.get(resource) ?? this.#maskOf(resource);
    const value = mask.shows(field) ? valueIn(this.#fieldsOf(resource, field), field) : undefined;
    if (!isOfElements(field)) return [value];
    return Array.isArray(value) ? value : [];
  }

  #fieldsOf(resource: Resource, field: string): unknown {
    const cached = this.#fields.get(resource);
    if (cached !== undefined) return cached;
    if (sizeOf(resource) > maxParsedChars) {
      const [name = ""] = field.split(/[.[]/, 1);
      return JSON.parse(projectionOf([name])(resource.fields));
    }
    const fields: unknown = JSON.parse(resource.fields);
    this.#fields.set(resource, fields);
    return fields;
  }

  /** Returns the text of `_expanded`. */
  #expanded(expansions: readonly Expansion[], resource: Resource): string {
    let text = "";
    for (const expansion of expansions) {
      const name = JSON.stringify(expansion.reference.field);
      text += `${text === "" ? "{" : ","}${name}:${this.#value(expansion, resource)}`;
    }
    return `${text}}`;
  }

  #value(expansion: Expansion, resource: Resource): string {
    const targets = this.#targetsOf(expansion, resource);
    if (!isOfElements(expansion.reference.field))
      return this.#text(expansion, targets[0] ?? nothing);
    let text = "";
    for (const target of targets) {
      text += `${text === "" ? "[" : ","}${this.#text(expansion, target)}`;
      // What contains the text is at least as large.
      if (text.length > this.#maxBytes) this.#isTooLarge = true;
      if (this.#isTooLarge) return "null";
    }
    return text === "" ? "[]" : `${text}]`;
  }

  /** Returns the text of a resource, which is the same wherever the same reference leads to it. */
  #text(expansion: Expansion, target: ExpandedTarget): string {
    const { resource } = target;
    const mask = resource && this.#masks.get(resource);
    if (!resource || !mask || this.#isTooLarge) return "null";
    const { access, inner } = expansion;
    target.view ??= mask.render(resource, `${this.#base}/${access.name}`);
    if (inner.length === 0) return target.view;
    const cached = target.texts?.get(expansion);
    if (cached !== undefined) return cached;
    const text = withText(target.view, expandedMember, this.#expanded(inner, resource));
    // Every text is in the response at least once.
    const bytes = (this.#textBytes.get(expansion) ?? 0) + text.length;
    this.#textBytes.set(expansion, bytes);
    if (bytes > this.#maxBytes) this.#isTooLarge = true;
    target.texts ??= new Map();
    target.texts.set(expansion, text);
    return text;
  }
}
