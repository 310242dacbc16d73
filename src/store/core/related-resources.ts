// Finds out what a query asks of the resources that others refer to, and keeps only the answers.

import { IndexedContent } from "../../model/query/index-plan.ts";
import {
  type EvaluatedContent,
  holds,
  idsIn,
  type Predicate,
  type Related,
  type RelatedFacts,
} from "../../model/query/predicate.ts";
import type { Query, Sorting, Through } from "../../model/query/query.ts";
import { relatedIn } from "../../model/query/related.ts";
import { keyOf, minKey } from "../../model/query/sort-key.ts";
import {
  ask,
  checkedBytes,
  type Read,
  type ReadResults,
  type Running,
  seqsAtOnce,
} from "./filter-reads.ts";
import { itemWork, runEachInTurns } from "./in-turns.ts";

/** What is known about one resource. */
interface Facts {
  readonly matched: ReadonlySet<Related>;
  readonly keys: ReadonlyMap<Through, string>;
}

/** The facts about a resource that does not exist. */
const noFacts: Facts = { matched: new Set(), keys: new Map() };

/** When more resources are known, all are forgotten, which bounds the memory use. */
const maxKnown = 100_000;

type SortField = Pick<Sorting, "field" | "kind" | "through">;

/** What resources of one collection refer to. */
export class RelatedResources implements RelatedFacts {
  readonly #references = new Map<string, ReferredResources>();

  /** Returns undefined when nothing is asked of other collections. */
  static of({ conditions, sortings }: Pick<Query, "conditions" | "sortings">) {
    const related = conditions.flatMap(relatedIn);
    const through = sortings.flatMap((sorting) => sorting.through ?? []);
    return related.length + through.length === 0
      ? undefined
      : new RelatedResources(related, through);
  }

  constructor(related: readonly Related[], through: readonly Through[]) {
    const references = new Set([...related, ...through].map(({ reference }) => reference));
    for (const reference of references) {
      const isOf = (asked: Related | Through) => asked.reference === reference;
      this.#references.set(
        reference,
        new ReferredResources(related.filter(isOf), through.filter(isOf)),
      );
    }
  }

  /** Reads what is not known yet. It is called before the contents are looked at. */
  *load(contents: readonly EvaluatedContent[]): Running<void> {
    for (const [reference, referred] of this.#references) {
      const ids: string[] = [];
      const workOf = () => itemWork.resource;
      yield* runEachInTurns(
        contents,
        workOf,
        (content) => void ids.push(...idsIn(content.at(reference))),
      );
      yield* referred.load(ids);
    }
  }

  matches(related: Related, id: string): boolean {
    return this.#facts(related, id).matched.has(related);
  }

  /** Returns the sort key of a field, which can be one of another resource. */
  keyOf({ field, kind, through }: SortField, content: EvaluatedContent): string {
    if (through === undefined) return keyOf(kind, content.at(field));
    const [id] = idsIn(content.at(through.reference));
    return (id !== undefined && this.#facts(through, id).keys.get(through)) || minKey;
  }

  #facts({ reference }: Related | Through, id: string): Facts {
    const facts = this.#references.get(reference)?.factsOf(id);
    if (facts === undefined) throw new Error(`nothing was read about a resource in ${reference}`);
    return facts;
  }
}

/** The resources that one reference names. */
class ReferredResources {
  readonly #related: readonly Related[];
  readonly #through: readonly Through[];
  readonly #collection: string;
  /** What they refer to themselves. */
  readonly #further: RelatedResources | undefined;
  readonly #known = new Map<string, Facts>();

  constructor(related: readonly Related[], through: readonly Through[]) {
    this.#related = related;
    this.#through = through;
    this.#collection = [...related, ...through][0]?.collection ?? "";
    const conditions: readonly Predicate[] = [
      ...related.map((asked) => asked.related),
      ...through.flatMap(({ visible }) => visible),
    ];
    const sortings = through.map((asked) => ({ ...asked, isDescending: false }));
    this.#further = RelatedResources.of({ conditions, sortings });
  }

  factsOf(id: string): Facts | undefined {
    return this.#known.get(id);
  }

  *load(ids: readonly string[]): Running<void> {
    if (this.#known.size > maxKnown) this.#known.clear();
    const unknown = [...new Set(ids)].filter((id) => !this.#known.has(id));
    for (let at = 0; at < unknown.length; ) {
      const chunk = unknown.slice(at, at + seqsAtOnce);
      const read: Read = {
        kind: "related",
        collection: this.#collection,
        ids: chunk,
        maxBytes: checkedBytes,
      };
      const resources: ReadResults["related"] = yield* ask("related", read);
      const contents = resources.map(
        (resource) => resource && new IndexedContent(resource, this.#further),
      );
      if (this.#further !== undefined)
        yield* this.#further.load(contents.filter((content) => content !== undefined));
      for (const [index, content] of contents.entries())
        this.#known.set(chunk[index] ?? "", content ? this.#factsIn(content) : noFacts);
      at += resources.length;
    }
  }

  #factsIn(content: EvaluatedContent): Facts {
    const visible = this.#through.filter((asked) =>
      asked.visible.every((predicate) => holds(predicate, content)),
    );
    return {
      matched: new Set(this.#related.filter(({ related }) => holds(related, content))),
      keys: new Map(visible.map((asked) => [asked, this.#keyOf(asked, content)])),
    };
  }

  #keyOf({ field, kind, through }: Through, content: EvaluatedContent): string {
    return this.#further === undefined
      ? keyOf(kind, content.at(field))
      : this.#further.keyOf({ field, kind, ...(through && { through }) }, content);
  }
}
