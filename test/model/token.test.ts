// Tokens: the format of the secret, what scopes allow, and when a token expires.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashSecret, isSecret, newSecret, secretPattern } from "../../src/model/secret.ts";
import {
  allows,
  allowsAction,
  isAdmin,
  isAlive,
  scopePattern,
  type Token,
  type Verb,
  verbs,
} from "../../src/model/token.ts";
import fc from "../fast-check.ts";

const token = (parts: Partial<Token> = {}): Token => ({
  id: "t",
  hash: hashSecret("rst_"),
  name: "test",
  subject: "t",
  scopes: [],
  roles: [],
  createdAt: 0,
  expiresAt: null,
  usedAt: null,
  revokedAt: null,
  ...parts,
});

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

describe("a secret", () => {
  it("has the documented format and is always different", () => {
    const secrets = Array.from({ length: 1000 }, newSecret);
    assert.equal(new Set(secrets).size, secrets.length);
    for (const secret of secrets) {
      assert.equal(secret.length, 53);
      assert.equal(secretPattern.exec(`token: ${secret}.`)?.[0], secret);
      assert.ok(isSecret(secret), secret);
    }
  });

  /** The checksum is CRC-32, computed elsewhere: changing it would disown every token given out. */
  it("has a checksum that never changes", () => {
    assert.ok(isSecret(`rst_${"0".repeat(43)}3erpfe`));
    assert.ok(isSecret(`rst_${"Restante".repeat(6).slice(0, 43)}2CPZos`));
  });

  it("is recognised as mistyped when one character is different", () => {
    const secret = newSecret();
    fc.assert(
      fc.property(
        fc.nat({ max: secret.length - 1 }),
        fc.constantFrom(...alphabet),
        (at, letter) => {
          fc.pre(secret[at] !== letter);
          assert.ok(!isSecret(secret.slice(0, at) + letter + secret.slice(at + 1)));
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("is recognised as mistyped when two adjacent characters are swapped", () => {
    const secret = newSecret();
    for (let at = 0; at < secret.length - 1; at++) {
      const [left = "", right = ""] = secret.slice(at, at + 2);
      const swapped = secret.slice(0, at) + right + left + secret.slice(at + 2);
      assert.equal(isSecret(swapped), left === right, swapped);
    }
  });

  it("has nothing before, after or inside it", () => {
    const secret = newSecret();
    for (const text of ["", "rst_", secret.slice(1), secret.slice(0, -1)])
      assert.ok(!isSecret(text));
    for (const extra of [" ", "\n", "0", "\0"]) {
      assert.ok(!isSecret(extra + secret));
      assert.ok(!isSecret(secret + extra));
    }
    assert.ok(!isSecret(secret.replace("rst_", "RST_")));
    const code = newSecret("rsc");
    assert.ok(isSecret(code, "rsc"));
    assert.ok(!isSecret(code) && !isSecret(secret, "rsc"));
  });

  it("needs its format even when the checksum is right", () => {
    assert.ok(!isSecret("rst_a1v1ao5"));
    assert.ok(!isSecret(`rst_${"!".repeat(43)}1vd9TC`));
    assert.ok(!isSecret(`abc_${"0".repeat(43)}1ZtkQJ`));
  });

  it("is stored as its SHA-256", () => {
    const known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert.equal(hashSecret("abc"), known);
  });
});

describe("a scope", () => {
  const scopes = [
    ..."admin *:* *:read people:* people:create a:update 0_-:delete".split(" "),
    ..."action:send-invoice action:* action:0 action:read".split(" "),
  ];
  for (const scope of scopes) it(`${scope} is valid`, () => assert.ok(scopePattern.test(scope)));

  const others = [
    "",
    "*",
    "people",
    "people:",
    ":read",
    "people:write",
    "people:read ",
    "People:read",
    "-people:read",
    "people:read:read",
    "admin:",
    "admin\n",
    "**:read",
    "peo*:read",
    `${"a".repeat(64)}:read`,
    "action:",
    "action:-x",
    "action:a_b",
    "action:A",
    "actions:send-invoice",
    "people:send-invoice",
    "*:send-invoice",
    `action:${"a".repeat(64)}`,
    "issue:",
    "issue:1",
    "issue:Guest",
    `issue:${"a".repeat(64)}`,
  ];
  for (const scope of others)
    it(`${JSON.stringify(scope)} is invalid`, () => assert.ok(!scopePattern.test(scope)));
});

describe("a token's scopes", () => {
  const cases: readonly [
    scopes: readonly string[],
    collection: string,
    allowed: readonly Verb[],
  ][] = [
    [[], "people", []],
    [["admin"], "people", verbs],
    [["*:*"], "people", verbs],
    [["people:*"], "people", verbs],
    [["people:*"], "pets", []],
    [["*:read"], "people", ["read"]],
    [["people:read", "people:delete"], "people", ["read", "delete"]],
    [["pets:*", "people:update"], "people", ["update"]],
    [["people:*"], "people2", []],
    [["people2:*"], "people", []],
    [["issue:*", "issue:read"], "issue", []],
    [["*:read"], "issue", ["read"]],
    [["admin:read"], "admin", ["read"]],
    [["admin:read"], "people", []],
    [["action:*"], "action", []],
    [["action:*", "action:read"], "action", ["read"]],
    [["*:*"], "action", verbs],
    [["action:*", "action:send"], "people", []],
  ];
  for (const [scopes, collection, allowed] of cases) {
    it(`[${scopes}] on ${collection}: ${allowed.join(", ") || "nothing"}`, () => {
      const found = verbs.filter((verb) => allows(token({ scopes }), collection, verb));
      assert.deepEqual(found, allowed);
    });
  }

  it("allow to run the actions that they name", () => {
    const cases: readonly [scopes: readonly string[], isAllowed: boolean][] = [
      [["admin"], true],
      [["action:*"], true],
      [["people:read", "action:send"], true],
      [["action:send-invoice", "action:sen"], false],
      [["*:*", "send:*", "action:read"], false],
      [[], false],
    ];
    for (const [scopes, isAllowed] of cases)
      assert.equal(allowsAction(token({ scopes }), "send"), isAllowed, `${scopes}`);
  });

  it("make an admin only by name", () => {
    assert.ok(isAdmin(token({ scopes: ["people:read", "admin"] })));
    assert.ok(!isAdmin(token({ scopes: ["*:*", "admin:*"] })));
    assert.ok(!isAdmin(token()));
  });
});

describe("a token", () => {
  const lives: readonly [what: string, parts: Partial<Token>, isAlive: boolean][] = [
    ["without an end lives", {}, true],
    ["lives before it expires", { expiresAt: 1001 }, true],
    ["is dead the moment it expires", { expiresAt: 1000 }, false],
    ["is dead after it expires", { expiresAt: 999 }, false],
    ["is dead when it is revoked", { revokedAt: 999 }, false],
    [
      "is dead when it is revoked, however long it was to live",
      { revokedAt: 1, expiresAt: 9e15 },
      false,
    ],
  ];
  for (const [what, parts, expected] of lives)
    it(what, () => assert.equal(isAlive(token(parts), 1000), expected));
});
