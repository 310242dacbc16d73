// Definitions that follow each other before the indexes of the last one are complete: no row is missing or left.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type IndexPlan, indexPlanOf } from "../../../src/model/query/index-plan.ts";
import type { Candidate } from "../../../src/model/query/query.ts";
import {
  type ActionResults,
  type BuildAction,
  buildStep,
} from "../../../src/store/core/build-step.ts";
import {
  type IndexBuild,
  isDone,
  isFailed,
  phaseOf,
  planBuild,
  plansOf,
  withoutFailed,
} from "../../../src/store/core/index-build.ts";
import {
  collectIndexRows,
  type IndexWrites,
  noIndexWrites,
} from "../../../src/store/core/index-rows.ts";
import { resourceIn } from "../../../src/store/core/stored-resource.ts";
import { withBuiltRows } from "../../../src/store/transfer/part-loader.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";

type Random = () => number;

/** A collection in memory: its resources, and the index rows that its definitions have left. */
class Part {
  definition = "{}";
  build: IndexBuild | undefined;
  readonly #random: Random;
  readonly #resources = new Map<number, Candidate>();
  /** `field key` by seq. */
  readonly #entries = new Set<string>();
  readonly #words = new Map<string, number>();

  constructor(random: Random) {
    this.#random = random;
    for (let seq = 1; seq <= 5; seq++) this.put(seq);
  }

  put(seq: number): void {
    const after = candidate(seq, this.#random);
    this.#write(plansOf(this.definition, this.build).write, this.#resources.get(seq), after);
    this.#resources.set(seq, after);
  }

  remove(seq: number): void {
    this.#write(plansOf(this.definition, this.build).write, this.#resources.get(seq), undefined);
    this.#resources.delete(seq);
  }

  define(definition: string): void {
    this.build = planBuild(this, definition, this.#resources.size);
    this.definition = definition;
  }

  step(): void {
    const { build } = this;
    if (build === undefined) return;
    if (isFailed(build)) {
      this.define(withoutFailed(this.definition, build));
      return;
    }
    const running = buildStep(this.definition, build);
    let step = running.next();
    while (!step.done) step = running.next(this.#act(step.value));
    this.build = isDone(step.value) ? undefined : step.value;
  }

  get isBuilding(): boolean {
    return this.build !== undefined && phaseOf(this.build) !== "none";
  }

  /** As a restored backup or a copy has it. */
  restore(): void {
    this.build = this.build && withBuiltRows(this.build);
    this.#entries.clear();
    this.#words.clear();
    const { write } = plansOf(this.definition, this.build);
    for (const each of this.#resources.values()) this.#write(write, undefined, each);
  }

  /** Queries get what is right at any moment, and at the end there are no other rows. */
  check(): void {
    const { read } = plansOf(this.definition, this.build);
    for (const index of read.indexes) {
      const expected = this.#expected({ searchable: [], indexes: [index] }).entries;
      assert.deepEqual(this.#entriesOf(index.name), expected, index.name);
    }
    if (read.searchable.length > 0 && !read.isSearchIncomplete)
      assert.deepEqual(sorted(this.#words), this.#expected({ ...read, indexes: [] }).words);
    if (this.isBuilding) return;
    const { entries, words } = this.#expected(indexPlanOf(this.definition));
    assert.deepEqual([...this.#entries].sort(), entries);
    assert.deepEqual(sorted(this.#words), words);
  }

  #expected(plan: IndexPlan) {
    const writes = noIndexWrites();
    for (const each of this.#resources.values()) collectIndexRows(writes, plan, undefined, each);
    const words = writes.words.map(({ word, seq, weight }) => [`${word} ${seq}`, weight] as const);
    return { entries: writes.entries.map(nameOf).sort(), words: sorted(new Map(words)) };
  }

  #entriesOf(index: string): readonly string[] {
    return [...this.#entries].filter((entry) => entry.startsWith(`${index} `)).sort();
  }

  #write(plan: IndexPlan, before: Candidate | undefined, after: Candidate | undefined): void {
    const writes = noIndexWrites();
    collectIndexRows(writes, plan, before, after);
    this.#save(writes);
  }

  #save({ deletedEntries, entries, deletedWords, words }: IndexWrites): void {
    for (const entry of deletedEntries) this.#entries.delete(nameOf(entry));
    for (const entry of entries) this.#entries.add(nameOf(entry));
    for (const { word, seq } of deletedWords) this.#words.delete(`${word} ${seq}`);
    for (const { word, seq, weight } of words) this.#words.set(`${word} ${seq}`, weight);
  }

  #act(action: BuildAction): ActionResults[keyof ActionResults] {
    const limit = 1 + Math.floor(this.#random() * 4);
    switch (action.kind) {
      case "delete": {
        const { index } = action;
        const rows = index === undefined ? [...this.#words.keys()] : this.#entriesOf(index);
        for (const row of rows.slice(0, limit)) {
          if (index === undefined) this.#words.delete(row);
          else this.#entries.delete(row);
        }
        return rows.length < limit;
      }
      case "index": {
        const later = [...this.#resources.values()]
          .filter(({ seq }) => seq > action.after)
          .sort((one, other) => one.seq - other.seq)
          .slice(0, limit);
        for (const each of later) this.#write(action.plan, undefined, each);
        return { count: later.length, last: later.at(-1)?.seq };
      }
      case "entries": {
        // A clash or none, whatever the values are.
        const isClash = this.#random() < 0.3;
        const same = [
          ["n1", 1],
          ["n1", 2],
        ] as const;
        return { entries: isClash ? same : [], isLast: true };
      }
      case "ids":
        return new Map(action.seqs.map((seq) => [seq, String(seq)]));
    }
  }
}

const nameOf = ({ field, key, seq }: { field: string; key: string; seq: number }): string =>
  `${field} ${key} ${seq}`;

const sorted = (words: ReadonlyMap<string, number>): readonly unknown[] =>
  [...words].toSorted(([one], [other]) => (one < other ? -1 : 1));

function candidate(seq: number, random: Random): Candidate {
  const number = () => Math.floor(random() * 4);
  const fields = { n: number(), m: number(), s: `word${number()}`, t: `word${number()} x` };
  return {
    seq,
    resource: resourceIn([`id${seq}`, 1, 0, 0, JSON.stringify(fields), null, null, 0]),
  };
}

const pick = <T>(random: Random, all: readonly T[]): readonly T[] =>
  all.filter(() => random() < 0.4);

/** With another type in the schema an index has other entries. */
function randomDefinition(random: Random): string {
  const integer = { type: "integer" };
  const text = { type: "string" };
  const properties = { n: integer, m: integer, s: text, t: text };
  const isTyped = random() < 0.7;
  return JSON.stringify({
    ...(isTyped && { schema: { properties } }),
    indexed: pick(random, ["n", "s", ...(isTyped ? [["n", "-m"]] : [])]),
    unique: pick(random, ["m"]),
    searchable: pick(random, ["s", "t"]),
  });
}

function runChain(random: Random): void {
  const part = new Part(random);
  for (let action = 0; action < 60; action++) {
    const choice = random();
    const seq = 1 + Math.floor(random() * 7);
    if (choice < 0.2) part.define(randomDefinition(random));
    else if (choice < 0.4) part.put(seq);
    else if (choice < 0.45) part.remove(seq);
    else if (choice < 0.47) part.restore();
    else part.step();
    part.check();
  }
  while (part.isBuilding) part.step();
  part.check();
}

describe("definitions that follow each other", () => {
  it("leave exactly the index rows of the last one", () => {
    const random = randomNumbers(newSeed("definitions that follow each other"));
    for (let run = 0; run < runs(200, 5_000); run++) runChain(random);
  });
});
