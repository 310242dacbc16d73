// Renders `_expanded`: finds what the resources of a page refer to, level by level, and renders each once.

import { setImmediate as turn } from "node:timers/promises";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { isOfElements } from "../model/field-kind.ts";
import { valueIn } from "../model/query/field-path.ts";
import type { Reference, Target } from "../model/reference.ts";
import { withText } from "../model/render.ts";
import { expandedMember, type Resource } from "../model/resource.ts";
import type { Store } from "../store/store.ts";
import type { CollectionAccess } from "./collection-access.ts";
import type { Mask } from "./mask.ts";

/** The limit for the different resources that one response can expand. */
export const maxTargets = 10_000;

/** Reads of one level are started together, up to this number, so that they need one round trip. */
const maxAtOnce = 200;

/** A reference that is expanded. */
export interface Expansion {
  readonly reference: Reference;
  /** The access to the collection that it refers to. */
  readonly access: CollectionAccess;
  readonly isReadable: boolean;
  /** What is expanded in the resources that it refers to. */
  readonly inner: readonly Expansion[];
}

/** Waits only if there is something to wait for. */
const all = <T>(values: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[]);

interface WantedTarget extends Target {
  readonly expansion: Expansion;
}

/** Resources, and a reference in them to follow. */
interface Step {
  readonly expansion: Expansion;
  readonly resources: readonly Resource[];
}

/** An id; undefined for a value that is not one. */
type Id = string | undefined;

export class ExpandedPage {
  readonly #store: Store;
  readonly #base: string;
  readonly #maxBytes: number;
  /** How the caller sees the resources that are expanded. */
  readonly #maskOf: (resource: Resource) => Mask;
  /** How the caller sees what they refer to. */
  readonly #masks = new Map<Resource, Mask>();
  /** What the caller may read, by collection and id. An id without a resource was not found. */
  readonly #found = new Map<string, Map<string, Resource | undefined>>();
  readonly #ids = new Map<Expansion, Map<Resource, readonly Id[]>>();
  readonly #fields = new Map<Resource, unknown>();
  readonly #texts = new Map<Expansion, Map<string, string>>();
  readonly #textBytes = new Map<Expansion, number>();
  #count = 0;
  #bytes = 0;
  #isTooLarge = false;

  constructor(store: Store, base: string, maxBytes: number, maskOf: (resource: Resource) => Mask) {
    this.#maskOf = maskOf;
    this.#store = store;
    this.#base = base;
    this.#maxBytes = maxBytes;
  }

  /** Returns a text for each resource, or undefined when it gets too large. */
  async read(
    expansions: readonly Expansion[],
    resources: readonly Resource[],
  ): Promise<readonly string[] | undefined> {
    let steps: readonly Step[] = expansions.map((expansion) => ({ expansion, resources }));
    while (steps.length > 0) {
      await this.#find(steps);
      if (this.#isTooLarge) return undefined;
      steps = steps.flatMap((step) => this.#next(step));
    }
    let bytes = 0;
    const texts: string[] = [];
    for (const resource of resources) {
      const text = this.#expanded(expansions, resource);
      bytes += text.length + resource.fields.length;
      if (bytes > this.#maxBytes) this.#isTooLarge = true;
      if (this.#isTooLarge) return undefined;
      texts.push(text);
    }
    return texts;
  }

  /** Finds what the resources of one level refer to. */
  async #find(steps: readonly Step[]): Promise<void> {
    const wanted = steps.flatMap((step) => this.#newTargets(step));
    this.#count += wanted.length;
    if (this.#count > maxTargets) this.#isTooLarge = true;
    for (let start = 0; start < wanted.length && !this.#isTooLarge; start += maxAtOnce) {
      // Other requests get a turn.
      if (start > 0) await turn();
      const some = wanted.slice(start, start + maxAtOnce);
      const found = await all(some.map(({ collection, id }) => this.#store.find(collection, id)));
      const masks = await all(
        found.map((resource, index) => resource && some[index]?.expansion.access.mask(resource)),
      );
      for (const [index, target] of some.entries()) this.#add(target, found[index], masks[index]);
    }
  }

  /** Returns what is not looked for yet. */
  #newTargets({ expansion, resources }: Step): readonly WantedTarget[] {
    const { access, isReadable } = expansion;
    if (!isReadable) return [];
    const { name } = access;
    const known = this.#found.get(name) ?? new Map<string, Resource | undefined>();
    this.#found.set(name, known);
    const wanted: WantedTarget[] = [];
    for (const resource of resources)
      for (const id of this.#idsIn(expansion, resource)) {
        if (id === undefined || known.has(id)) continue;
        known.set(id, undefined);
        wanted.push({ collection: name, id, expansion });
      }
    return wanted;
  }

  #add(
    { collection, id }: WantedTarget,
    resource: Resource | undefined,
    mask: Mask | undefined,
  ): void {
    if (resource === undefined || mask === undefined) return;
    this.#masks.set(resource, mask);
    this.#found.get(collection)?.set(id, resource);
    this.#bytes += resource.fields.length;
    if (this.#bytes > this.#maxBytes) this.#isTooLarge = true;
  }

  /** Returns the steps from what was found. */
  #next({ expansion, resources }: Step): readonly Step[] {
    if (expansion.inner.length === 0) return [];
    const found = new Set<Resource>();
    for (const resource of resources)
      for (const id of this.#idsIn(expansion, resource)) {
        const target = this.#target(expansion, id);
        if (target !== undefined) found.add(target);
      }
    return expansion.inner.map((inner) => ({ expansion: inner, resources: [...found] }));
  }

  #target({ access, isReadable }: Expansion, id: Id): Resource | undefined {
    if (!isReadable || id === undefined) return undefined;
    return this.#found.get(access.name)?.get(id);
  }

  /** Returns the ids in document order: one for each element of an array, also where it has none. */
  #idsIn(expansion: Expansion, resource: Resource): readonly Id[] {
    const known = this.#ids.get(expansion) ?? new Map<Resource, readonly Id[]>();
    this.#ids.set(expansion, known);
    const cached = known.get(resource);
    if (cached !== undefined) return cached;
    const { field } = expansion.reference;
    const mask = this.#masks.get(resource) ?? this.#maskOf(resource);
    const value = mask.shows(field) ? valueIn(this.#fieldsOf(resource), field) : undefined;
    const values: readonly unknown[] =
      isOfElements(field) && Array.isArray(value) ? value : [value];
    const ids = values.map((each) => (typeof each === "string" ? each : undefined));
    known.set(resource, ids);
    return ids;
  }

  #fieldsOf(resource: Resource): unknown {
    const cached = this.#fields.get(resource);
    if (cached !== undefined) return cached;
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
    const ids = this.#idsIn(expansion, resource);
    if (!isOfElements(expansion.reference.field)) return this.#text(expansion, ids[0]);
    let text = "";
    for (const id of ids) {
      text += `${text === "" ? "[" : ","}${this.#text(expansion, id)}`;
      // What contains the text is at least as large.
      if (text.length > this.#maxBytes) this.#isTooLarge = true;
      if (this.#isTooLarge) return "null";
    }
    return text === "" ? "[]" : `${text}]`;
  }

  /** Returns the text of a resource, which is the same wherever the same reference leads to it. */
  #text(expansion: Expansion, id: Id): string {
    const target = this.#target(expansion, id);
    const mask = target && this.#masks.get(target);
    if (!target || !mask || id === undefined || this.#isTooLarge) return "null";
    const texts = this.#texts.get(expansion) ?? new Map<string, string>();
    this.#texts.set(expansion, texts);
    const cached = texts.get(id);
    if (cached !== undefined) return cached;
    const { access, inner } = expansion;
    const view = mask.render(target, `${this.#base}/${access.name}`);
    const text =
      inner.length === 0 ? view : withText(view, expandedMember, this.#expanded(inner, target));
    // Every text is in the response at least once.
    const bytes = (this.#textBytes.get(expansion) ?? 0) + text.length;
    this.#textBytes.set(expansion, bytes);
    if (bytes > this.#maxBytes) this.#isTooLarge = true;
    texts.set(id, text);
    return text;
  }
}
