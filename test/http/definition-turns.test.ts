// Large definitions: judged while others are answered, and bounded.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { boundariesOfProperty, propertiesIn } from "../../src/lib/regex/properties.ts";
import { Preparation } from "../../src/lib/schema/preparation.ts";
import { isLong } from "../seeds.ts";
import { turnsOf } from "../turns-of.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { assertProblem } from "./expect.ts";

const texts = (count: number, name: (index: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [name(at), { type: "string" }]));

const withPatterns = (patterns: readonly string[]) => ({
  schema: {
    properties: Object.fromEntries(
      patterns.map((pattern, at) => [`f${at}`, { type: "string", pattern }]),
    ),
  },
});

const patterns = (count: number, chars: number) =>
  Array.from({ length: count }, (_, at) => `^${String(at).padStart(5, "a")}`.padEnd(chars, "x"));

/** As long as a definition may be, with texts of different lengths in all places. */
const long = {
  schema: {
    properties: Object.fromEntries(
      Array.from({ length: 900 }, (_, at) => [
        `f${at}`,
        { enum: Array.from({ length: 80 }, (_, n) => `v${n}-${at}`), description: "x".repeat(50) },
      ]),
    ),
  },
};

describe("a large definition", () => {
  let app: TestApp;
  let admin: Client;
  before(async () => {
    app = await startApp();
    admin = new Client(app);
  });
  after(() => app.stop());

  /** Sends a definition, and returns in how many turns it is answered. Other requests are answered meanwhile. */
  async function turnsFor(path: string, definition: object, status: number) {
    let answered = 0;
    let isWaiting = false;
    const ask = async () => {
      if (isWaiting) return;
      isWaiting = true;
      assert.equal((await app.request("/-/health")).status, 200);
      answered++;
      isWaiting = false;
    };
    const define = async () => assert.equal((await admin.put(path, definition)).status, status);
    const turns = await turnsOf(define, () => void ask());
    assert.ok(answered > 1, `${answered}`);
    return turns;
  }

  const many = { schema: { patternProperties: texts(900, (at) => `^x${at}_`) } };
  const cases: readonly [what: string, definition: object, status: number, atLeast: number][] = [
    ["many patterns are judged", many, 400, 220],
    ["patterns of many fields are judged", withPatterns(patterns(400, 50)), 201, 95],
    ["a long text is judged", long, 201, 25],
    ["a long text is judged again", long, 200, 25],
  ];
  for (const [what, definition, status, atLeast] of cases)
    it(`answers others while ${what}`, async () => {
      const path = definition === long ? "/-/collections/long" : "/-/collections/patterns";
      const turns = await turnsFor(path, definition, status);
      assert.ok(turns >= atLeast, `${turns}`);
    });

  it("answers others while a dry run judges it", async () => {
    const turns = await turnsFor("/-/collections/long?dry-run=true", long, 200);
    assert.ok(turns >= 25, `${turns}`);
  });

  it("may have many patterns, up to a limit for all of them", async () => {
    const put = (definition: object) => admin.put("/-/collections/limited", definition);
    assert.equal((await put(withPatterns(patterns(50, 400)))).status, 201);
    assert.equal((await put(withPatterns(Array(900).fill(`^${"x".repeat(400)}`)))).status, 200);
    const refused = await admin.put(
      "/-/collections/limited",
      withPatterns([...patterns(50, 400), "^"]),
    );
    assert.deepEqual(errorsOf(assertProblem(refused, "invalid-body")), [
      {
        pointer: "/schema",
        detail: "the patterns of all its schemas must not have more than 20000 characters together",
      },
    ]);
  });

  it("may name Unicode properties, up to a limit", async () => {
    const scripts =
      "Adlam Ahom Arabic Armenian Avestan Bamum Batak Bengali Bopomofo Brahmi Braille Buhid Carian Chakma Cham Cherokee Coptic Cypriot Cyrillic Deseret Duployan Elbasan Elymaic Ethiopic Georgian Gothic Grantha Greek Gujarati Han Hangul Hebrew Hatran";
    const all = scripts.split(" ").map((script) => `^\\p{Script=${script}}`);
    const put = (named: readonly string[]) =>
      admin.put("/-/collections/scripts", withPatterns(named));
    if (isLong) assert.equal((await put([...all.slice(0, 32), "^\\P{Script=Han}"])).status, 201);
    assert.deepEqual(errorsOf(assertProblem(await put(all), "invalid-body")), [
      {
        pointer: "/schema",
        detail: "its patterns must not name more than 32 different properties such as \\p{L}",
      },
    ]);
  });
});

const errorsOf = (problem: object): unknown => "errors" in problem && problem.errors;

describe("what is found out once", () => {
  it("goes through Unicode once for each property, however it is written", () => {
    assert.deepEqual(propertiesIn("^[\\p{L}x]\\P{L}\\p{Script=Han}\\\\p{no}"), [
      "\\p{L}",
      "\\p{Script=Han}",
    ]);
    assert.equal(boundariesOfProperty("\\p{L}"), boundariesOfProperty("\\p{L}"));
  });

  it("prepares a long list once, however many schemas have it", () => {
    const never = () => () => assert.fail();
    const parts = new Preparation({ checkOfReference: never, checkOfUnevaluated: never });
    const choices = Array.from({ length: 1_000 }, (_, at) => ({ at }));
    const [one, other] = [parts.prepared({ enum: choices }), parts.prepared({ enum: choices })];
    const check = (schema: unknown) =>
      (schema as { "~refine": readonly { check: unknown }[] })["~refine"][0]?.check;
    assert.notEqual(check(one), undefined);
    assert.equal(check(one), check(other));
  });
});
