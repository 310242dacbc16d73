// A map with a limit forgets what was not used, and keeps what was.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RecentMap } from "../../src/lib/recent-map.ts";

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

  it("counts weights, and does not keep what is too heavy", () => {
    const map = new RecentMap<string, string>(20, (value, key) => value.length + key.length);
    map.set("heavy", "x".repeat(6));
    assert.equal(map.get("heavy"), undefined);
    map.set("a", "xxx");
    map.set("b", "xxx");
    assert.deepEqual([map.get("a"), map.get("b")], ["xxx", "xxx"]);
    map.clear();
    assert.equal(map.get("a"), undefined);
  });
});
