// What is asked for is read once, and an evaluation that asked for it is repeated after it was read.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { evaluated, Lookup } from "../../src/lib/maybe-promise.ts";

describe("a lookup", () => {
  const chain: Readonly<Record<string, string>> = { a: "b", b: "c", c: "" };

  /** Follows the chain from `a` and from `b`, and returns how far it came. */
  function follow(isLate: boolean) {
    const asked: string[] = [];
    let evaluations = 0;
    const lookup = new Lookup((key) => {
      asked.push(key);
      const value = chain[key] ?? "";
      return isLate ? Promise.resolve(value) : value;
    });
    const reach = (key: string): number => {
      const next = lookup.find(key);
      return next ? 1 + reach(next) : 0;
    };
    const result = evaluated(
      () => {
        evaluations++;
        return [reach("a"), reach("b")];
      },
      () => lookup.loading,
    );
    return { result, asked, lookup, evaluations: () => evaluations };
  }

  it("knows at once what is read at once, so that it is evaluated once", () => {
    const { result, asked, evaluations } = follow(false);
    assert.deepEqual(result, [2, 1]);
    assert.deepEqual([asked, evaluations()], [["a", "b", "c"], 1]);
  });

  it("reads each thing once, and evaluates again after that", async () => {
    const { result, asked, evaluations, lookup } = follow(true);
    assert.ok(result instanceof Promise);
    assert.deepEqual(await result, [2, 1]);
    assert.deepEqual([asked, evaluations()], [["a", "b", "c"], 3]);
    assert.deepEqual([...lookup.found], [...Object.entries(chain)]);
    assert.equal(lookup.loading, undefined);
  });

  it("is unused until something is asked for", () => {
    const lookup = new Lookup((key) => key);
    assert.equal(lookup.isUnused, true);
    lookup.find("a");
    assert.equal(lookup.isUnused, false);
  });

  it("rejects when something cannot be read", async () => {
    const lookup = new Lookup<string>(() => Promise.reject(new Error("no")));
    const result = evaluated(
      () => lookup.find("a"),
      () => lookup.loading,
    );
    await assert.rejects(Promise.resolve(result), /no/);
  });
});
