// A map with a limit forgets what was not used, and keeps what was.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RecentMap } from "../../src/lib/recent-map.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";

describe("a recent map", () => {
  it("holds no more than its limit, whatever is added", () => {
    const map = new RecentMap<number, number>(10);
    for (let key = 0; key < 100; key++) map.set(key, key);
    const held = Array.from({ length: 100 }, (_, key) => map.get(key)).filter(
      (value) => value !== undefined,
    );
    assert.ok(held.length <= 10, `${held.length}`);
    assert.equal(map.get(99), 99);
  });

  it("keeps an entry that is used between others", () => {
    const map = new RecentMap<string, number>(10);
    map.set("used", 1);
    for (let key = 0; key < 100; key++) {
      map.set(`other ${key}`, key);
      assert.equal(map.get("used"), 1);
    }
  });

  it("makes a value once, until it is forgotten", () => {
    const map = new RecentMap<number, string>(2);
    const made: number[] = [];
    const textOf = (key: number) =>
      map.getOrAdd(key, (wanted) => {
        made.push(wanted);
        return `value ${wanted}`;
      });
    assert.deepEqual(
      [1, 1, 2, 1, 3, 3].map(textOf),
      [1, 1, 2, 1, 3, 3].map((key) => `value ${key}`),
    );
    assert.deepEqual(made, [1, 2, 3]);
    assert.equal(map.size, 2);
    assert.equal(textOf(2), "value 2");
    assert.deepEqual(made, [1, 2, 3, 2]);
  });

  it("counts weights, and does not keep what is too heavy", () => {
    const map = new RecentMap<string, string>(20, (value, key) => value.length + key.length);
    map.set("a", "x".repeat(9));
    map.set("heavy", "x".repeat(16));
    assert.equal(map.get("heavy"), undefined);
    map.set("b", "x".repeat(9));
    assert.deepEqual([map.get("a"), map.get("b")], ["x".repeat(9), "x".repeat(9)]);
    map.set("a", "x".repeat(20));
    assert.deepEqual([map.get("a"), map.get("b")], [undefined, "x".repeat(9)]);
    map.clear();
    assert.equal(map.get("b"), undefined);
  });

  it("uses its whole limit, also when values are replaced", () => {
    const map = new RecentMap<number, number>(10);
    const keys = Array.from({ length: 10 }, (_, key) => key);
    for (let round = 0; round < 100; round++) {
      for (const key of keys) map.set(key, key + round);
      assert.deepEqual(
        keys.map((key) => map.get(key)),
        keys.map((key) => key + round),
      );
    }
  });

  it("holds the newest values within its limit after any sequence of calls", () => {
    const numbers = randomNumbers(newSeed("a recent map"));
    const random = (below: number) => Math.floor(numbers() * below);
    const limit = 50;
    const map = new RecentMap<number, number>(limit, (value) => value);
    const last = new Map<number, number>();
    for (let step = 0; step < runs(2_000, 50_000); step++) {
      const key = random(30);
      if (random(3) === 0) assert.ok([undefined, last.get(key)].includes(map.get(key)));
      else {
        const weight = random(limit + 5);
        const isNew = map.get(key) === undefined;
        map.set(key, weight);
        last.set(key, weight);
        if (isNew) assert.equal(map.get(key), weight > limit ? undefined : weight);
      }
      const held = [...last.keys()].map((each) => map.get(each) ?? 0);
      if (random(20) === 0) assert.ok(held.reduce((sum, weight) => sum + weight, 0) <= limit);
    }
  });
});
