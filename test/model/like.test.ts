// The operator `like`, compared with a simple definition on random texts with repetitions.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { likeMatcher } from "../../src/model/query/like.ts";
import fc from "../fast-check.ts";
import { runs } from "../seeds.ts";

/** What `like` means, tried in every way: only for short texts. */
function fits(text: string, pattern: string): boolean {
  if (pattern === "") return text === "";
  if (pattern.startsWith("*"))
    return fits(text, pattern.slice(1)) || (text !== "" && fits(text.slice(1), pattern));
  return text !== "" && text[0] === pattern[0] && fits(text.slice(1), pattern.slice(1));
}

const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 });
const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 6 });

describe("like", () => {
  it("matches what its pattern means", () => {
    const check = fc.property(text, pattern, (given, asked) =>
      assert.equal(likeMatcher(asked)(given), fits(given, asked)),
    );
    fc.assert(check, { numRuns: runs(2_000, 200_000) });
  });

  it("finds long parts where indexOf finds them", () => {
    const long = fc
      .array(fc.constantFrom("a", "aa", "ab", "aba"), { minLength: 12, maxLength: 60 })
      .map((parts) => parts.join(""));
    const check = fc.property(
      long,
      fc.nat(60),
      fc.nat(100),
      fc.boolean(),
      (given, from, to, cut) => {
        const piece = cut ? given.slice(from, from + to) : `${given.slice(from)}b`;
        const isThere = given.includes(piece);
        assert.equal(likeMatcher(`*${piece}*`)(given), isThere);
        assert.equal(
          likeMatcher(`a*${piece}*${piece}*`)(`a${given}${given}`),
          isThere || piece === "",
        );
      },
    );
    fc.assert(check, { numRuns: runs(2_000, 200_000) });
  });
});
