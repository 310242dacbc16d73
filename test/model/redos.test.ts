// Patterns with catastrophic backtracking: known ones, and random ones against an engine that counts its steps.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { alphabetOf } from "../../src/lib/regex/alphabet.ts";
import { type PatternNode, parsePattern } from "../../src/lib/regex/pattern.ts";
import { type Growth, redosGrowth } from "../../src/lib/regex/redos.ts";
import fc from "../fast-check.ts";
import { isLong, newSeed, randomNumbers } from "../seeds.ts";
import { itLong } from "../short-run.ts";

const patterns: Readonly<Record<Growth, readonly string[]>> = {
  linear: [
    "",
    "^",
    "a",
    "\\d+",
    "x*y*z*",
    "^[a-z]+$",
    "^.*$",
    "^[a-z0-9]+(-[a-z0-9]+)*$",
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^\\+?[0-9 ()-]{7,20}$",
    "^\\+?[0-9]{1,3}[0-9]{4,14}$",
    "^[A-Z]{2}[A-Z0-9]{4}$",
    "^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$",
    "^((25[0-5]|2[0-4]\\d|1?\\d?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1?\\d?\\d)$",
    "^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$",
    "^[^@\\s]+@[^@\\s.]+(\\.[^@\\s.]+)+$",
    "^\\p{L}[\\p{L} '-]*$",
    "^(?=.*[A-Z])(?=.*\\d).{8,}$",
    "^(?!-)[a-z-]+(?<!-)$",
    "^https?://",
    "^\\u{1F600}+$",
    "^[\\u0041-\\u005a]+\\x2d$",
    "\\bword\\b",
    "^(?<year>\\d+)-(?:\\d+)$",
    "^[\\]\\-a]+\\]$",
  ],
  quadratic: [
    "\\d+-\\d+",
    "foo.*bar",
    "^.*foo.*$",
    "^\\s+|\\s+$",
    "^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$",
    "(?=.*a)b",
    "^(?:x(?=.*a))*$",
  ],
  unsafe: [
    "^(a+)+$",
    "^(a*)*$",
    "(a|a)*b",
    "^(a|ab|b)*$",
    "^(\\w+\\s?)*$",
    "^(x*y*)*$",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "^\\S+@\\S+\\.\\S+$",
    "a*a*a*b",
    "(a?){30}a{30}",
    `${"a?".repeat(30)}${"a".repeat(30)}$`,
    "(.)\\1",
    "(?<same>a)\\k<same>",
    "^(?=(a+)+$)",
    "(?<=a+)b",
    "^[a-z]{600}$",
    "^(a{1,50}){1,50}$",
    "^([\\p{L}]|[\\p{Script=Greek}])*$",
    "^(?:\\p{Script=Yi}|\\p{Lm})+$",
    "^(?:[\\u1600-\\u1700]|\\s)+$",
    "^(?:\\p{Script=Han}|[\\u{2f800}-\\u{2f801}])+$",
    "^(?:\\p{Script=Common}|\\u{e0041})+$",
  ],
};

describe("the growth of the matching time", () => {
  for (const [growth, sources] of Object.entries(patterns))
    for (const source of sources)
      it(`${source.slice(0, 40)} is ${growth}`, () => assert.equal(redosGrowth(source), growth));

  itLong("grows no faster than the analysis says", () => {
    fc.assert(
      fc.property(
        anyPattern,
        fc.array(anyWord, { minLength: 3, maxLength: 3 }),
        (source, words) => {
          const growth = redosGrowth(source);
          fc.pre(growth !== "unsafe");
          const pattern = parsePattern(source) ?? assert.fail(source);
          const [first = "", pumped = "", last = ""] = words;
          const stepsFor = (count: number) =>
            countSteps(pattern, `${first}${pumped.repeat(count)}${last}`);
          // Which branch matches can depend on the length modulo that of a repeated group.
          const [few = 0, some = 0, many = 0] = [16, 32, 64].map((count) =>
            Math.max(stepsFor(count), stepsFor(count + 1), stepsFor(count + 2)),
          );
          // Twice the text takes twice the time, or four times. The tolerance is for short texts, where
          // more of them can even take fewer steps.
          const factor = growth === "linear" ? 2.5 : 4.6;
          const before = Math.max(0, some - few);
          assert.ok(many - some <= factor * before + 500, `${few}, ${some}, ${many}`);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe("the alphabet of a pattern", () => {
  const sets = [
    ...[
      "\\p{Script=Yi}",
      "\\p{Lm}",
      "\\p{Script=Han}",
      "\\p{Nl}",
      "\\P{L}",
      "\\p{Emoji}",
      "\\s",
      "\\w",
    ],
    ...[
      "[^\\p{L}\\p{N}]",
      "[\\u{1F600}-\\u{1F64F}]",
      "[\\u1600-\\u1700]",
      ".",
      "k",
      "\\u212a",
      "\\S",
    ],
  ];

  it("says exactly which sets have a character in common", () => {
    const pairs = sets.flatMap((one) => sets.map((other) => [one, other] as const));
    const random = randomNumbers(newSeed("alphabet"));
    for (const [one, other] of isLong ? pairs : pairs.filter(() => random() < 0.01)) {
      const flags = random() < 0.3 ? "iu" : "u";
      const both = new RegExp(`(?=${one})${other}`, flags);
      const alphabet = alphabetOf(`${one}${other}`, [...new Set([one, other])], flags);
      const isShared = (alphabet(one) & alphabet(other)) !== 0n;
      assert.equal(
        isShared,
        everyCharacter.some((block) => both.test(block)),
        `${one} ${other}`,
      );
    }
  });
});

/** All of Unicode, in blocks. */
const everyCharacter = Array.from({ length: 0x110 }, (_, block) =>
  Array.from({ length: 0x1000 }, (__, at) => block * 0x1000 + at)
    .filter((point) => point < 0xd800 || point > 0xdfff)
    .map((point) => String.fromCodePoint(point))
    .join(""),
);

const anyWord = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });

const { part } = fc.letrec<{ part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc.constantFrom("a", "b", "[ab]", ".", "[^a]"),
    fc.array(tie("part"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("")),
    fc.array(tie("part"), { minLength: 2, maxLength: 3 }).map((parts) => `(?:${parts.join("|")})`),
    fc
      .tuple(tie("part"), fc.constantFrom("*", "+", "?", "{2}", "{0,2}", "{1,}", "{2,8}", "*?"))
      .map(([body, times]) => `(${body})${times}`),
    tie("part").map((body) => `(?=${body})`),
  ),
}));
const anyPattern = fc
  .tuple(fc.constantFrom("^", ""), part, fc.constantFrom("$", "", "c"))
  .map((parts) => parts.join(""));

const maxSteps = 3_000_000;

/** The steps of a backtracking engine that looks for a match from every position. */
function countSteps(whole: PatternNode, text: string): number {
  let steps = 0;
  const match = (node: PatternNode, at: number, then: (at: number) => boolean): boolean => {
    if (++steps > maxSteps) throw new Error("too many steps");
    switch (node.type) {
      case "Character":
      case "CharacterSet":
      case "CharacterClass": {
        const isMatch = at < text.length && setOf(node.raw).test(text.charAt(at));
        return isMatch && then(at + 1);
      }
      case "Alternative":
        return node.elements.reduceRight<(at: number) => boolean>(
          (next, each) => (position) => match(each, position, next),
          then,
        )(at);
      case "Pattern":
      case "Group":
      case "CapturingGroup":
        return node.alternatives.some((each) => match(each, at, then));
      case "Assertion":
        if ("alternatives" in node)
          return node.alternatives.some((each) => match(each, at, () => true)) && then(at);
        return at === (node.kind === "start" ? 0 : text.length) && then(at);
      case "Quantifier":
        return repeat(node, 0, at, then);
      default:
        throw new Error(`${node.type} is not supported`);
    }
  };
  const repeat = (
    node: PatternNode & { type: "Quantifier" },
    count: number,
    at: number,
    then: (at: number) => boolean,
  ): boolean => {
    const again = (position: number): boolean =>
      (position > at || count < node.min) && repeat(node, count + 1, position, then);
    const isMore = count < node.max && match(node.element, at, again);
    return isMore || (count >= node.min && then(at));
  };
  for (let start = 0; start <= text.length; start++) if (match(whole, start, () => true)) break;
  return steps;
}

const sets = new Map<string, RegExp>();
function setOf(source: string): RegExp {
  const set = sets.get(source) ?? new RegExp(`^${source}$`, "u");
  sets.set(source, set);
  return set;
}
