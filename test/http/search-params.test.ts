// The parameters of a query string, which are those that URLSearchParams finds.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { readSearchParams } from "../../src/http/request/request-target.ts";
import fc from "../fast-check.ts";
import { newSeed, runs } from "../seeds.ts";

/** Only Node counts steps. */
const node =
  "bun" in process.versions
    ? fileURLToPath(new URL("../../node_modules/.bin/node", import.meta.url))
    : process.execPath;
const program = fileURLToPath(new URL("search-params-steps.ts", import.meta.url));

const pieces = [
  ...["a", "age", "limit", "address.city", "a[gte]", "1", "-1.5", "x,y", "2026-03-28T12:00:00Z"],
  ...[
    "=",
    "=",
    "=",
    "&",
    "&",
    "&",
    "?",
    "+",
    "%",
    "%20",
    "%26",
    "%3D",
    "%zz",
    "%ff",
    ";",
    "*",
    "~",
  ],
  ...["[", "]", " ", "é", "\u{1f600}", "rst_", "#", "/", "\\", '"'],
];

describe("a query string", () => {
  it("has the parameters that URLSearchParams finds", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
        const query = parts.join("");
        assert.deepEqual(readSearchParams(query), [...new URLSearchParams(query)]);
      }),
      { numRuns: runs(100, 200_000), seed: newSeed("query strings") },
    );
  });

  it("keeps the order and the repetitions", () => {
    assert.deepEqual(readSearchParams("b=2&a=1&b=3&c="), [
      ["b", "2"],
      ["a", "1"],
      ["b", "3"],
      ["c", ""],
    ]);
  });

  it("takes steps that grow with its length, also where parameters have no value", () => {
    const args = ["--disable-warning=ExperimentalWarning", program];
    const { stdout, stderr, status } = spawnSync(node, args, { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const counted = stdout.trim().split("\n");
    assert.equal(counted.length, 5);
    for (const line of counted) {
      const [, few, some, many] = JSON.parse(line);
      assert.ok(few >= 500 && some <= 2.5 * few && many <= 2.5 * some, line);
    }
  });
});
