// The parameters of a query string, which are those that URLSearchParams finds.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readSearchParams } from "../../src/http/request/request-target.ts";
import fc from "../fast-check.ts";

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
});
