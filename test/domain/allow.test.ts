// Which grant allows a write, and what is stored under it.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Access } from "../../src/domain/access.ts";
import { acceptWrite, refuse } from "../../src/domain/write/allow.ts";
import type { Grant } from "../../src/model/access/grant.ts";
import { anonymous, type Principal, system } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import type { Resource } from "../../src/model/resource.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";

let folder: string;
let store: Store;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  store = await openSqlite({ path: join(folder, "data") });
});
after(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

const ann: Principal = {
  kind: "token",
  subject: "ann",
  scopes: ["notes:*"],
  roles: ["editor"],
  credential: undefined,
};

interface Rules {
  readonly read?: readonly Grant[];
  readonly create?: readonly Grant[];
  readonly update?: readonly Grant[];
  readonly boundary?: object;
}

const grant = (more: Partial<Grant>): Grant => ({ name: "a grant", to: "token", ...more });

async function accessOf({ boundary, ...access }: Rules, principal: Principal = ann) {
  const definition = JSON.stringify({ access, ...(boundary && { boundary }) });
  await store.commit([{ kind: "define", collection: "notes", definition, at: 1 }]);
  return new Access(store, () => 1000).collection(principal, "notes");
}

/** Returns the stored fields, or the kind of the problem and its pointers. */
async function write(
  rules: Rules,
  sent: object,
  current?: object,
  principal?: Principal,
): Promise<unknown> {
  const access = await accessOf(rules, principal);
  const resource: Resource | undefined = current && {
    ...{ id: "one", revision: 1, createdAt: 1, updatedAt: 1, fields: JSON.stringify(current) },
  };
  const place = { id: "one", at: 2, address: "/notes/one", current: resource };
  const accepted = acceptWrite(access, JSON.stringify(sent), place);
  if (!(accepted instanceof Problem)) return JSON.parse(accepted.fields);
  const pointers = accepted.errors?.map((error) => ("pointer" in error ? error.pointer : ""));
  return [accepted.kind, ...(pointers ?? [])];
}

describe("a new resource", () => {
  it("is stored by the first grant that allows it as a whole", async () => {
    const create = [
      grant({ fields: ["a"], set: { by: "first" } }),
      grant({ fields: ["a", "b"], check: { b: { gt: 5 } }, set: { by: "second" } }),
      grant({ fields: ["b", "c"], set: { by: "third" } }),
    ];
    assert.deepEqual(await write({ create }, { a: 1 }), { a: 1, by: "first" });
    assert.deepEqual(await write({ create }, { a: 1, b: 6 }), { a: 1, b: 6, by: "second" });
    assert.deepEqual(await write({ create }, { b: 1 }), { b: 1, by: "third" });
    // Not by two grants together.
    assert.deepEqual(await write({ create }, { a: 1, c: 1 }), ["forbidden", "/c"]);
    assert.deepEqual(await write({ create }, { a: 1, b: 1 }), ["forbidden"]);
  });

  it("is checked with what is set", async () => {
    const create = [
      grant({ set: { by: "$me", roles: "$me.roles", x: "$$me" }, check: { by: "ann" } }),
    ];
    const stored = { by: "ann", roles: ["editor"], x: "$me" };
    assert.deepEqual(await write({ create }, {}), stored);
    assert.deepEqual(await write({ create }, { by: "ann" }), stored);
    assert.deepEqual(await write({ create }, { by: "bob" }), ["forbidden", "/by"]);
    assert.deepEqual(await write({ create }, { by: null }), ["forbidden", "/by"]);
  });

  it("is stored as it is for an admin, and never for who lacks a value", async () => {
    const create = [grant({ to: "everyone", set: { by: "$me" } })];
    assert.deepEqual(await write({ create }, { by: "x" }, undefined, system), { by: "x" });
    const access = await accessOf({ create }, anonymous);
    assert.equal(access.require("create")?.kind, "unauthenticated");
  });

  it("must be inside the boundary", async () => {
    const rules = { create: [grant({})], boundary: { tenant: "$me" } };
    assert.deepEqual(await write(rules, { tenant: "ann" }), { tenant: "ann" });
    assert.deepEqual(await write(rules, { tenant: "bob" }), ["forbidden"]);
    assert.deepEqual(await write(rules, {}), ["forbidden"]);
  });
});

describe("a change", () => {
  it("is decided by what holds before and after", async () => {
    const update = [
      grant({ where: { s: "new" }, check: { s: { in: ["new", "old"] } } }),
      grant({ where: { s: "old" }, fields: ["note"] }),
    ];
    assert.deepEqual(await write({ update }, { s: "old" }, { s: "new" }), { s: "old" });
    assert.deepEqual(await write({ update }, { s: "gone" }, { s: "new" }), ["forbidden"]);
    assert.deepEqual(await write({ update }, { s: "new" }, { s: "old" }), ["forbidden", "/s"]);
    assert.deepEqual(await write({ update }, { s: "old", note: 1 }, { s: "old" }), {
      ...{ s: "old", note: 1 },
    });
    const access = await accessOf({ update });
    const state = { id: "one", revision: 1, createdAt: 1, updatedAt: 1 };
    assert.equal(refuse(access, "update", { ...state, fields: '{"s":"new"}' }), undefined);
    assert.equal(refuse(access, "update", { ...state, fields: "{}" })?.kind, "forbidden");
  });

  it("counts what is altered, added or left out, and nothing that is equal", async () => {
    const rules = { update: [grant({ fields: ["a", "o.x"] })] };
    const current = { a: 1, b: { c: [1, { d: 2 }] }, o: { x: 1, y: 2 } };
    const changed = { ...current, a: 2, o: { y: 2, x: 3 } };
    assert.deepEqual(await write(rules, changed, current), changed);
    assert.deepEqual(await write(rules, { a: 2 }, current), ["forbidden", "/b", "/o/y"]);
    const other = { ...current, b: { c: [1, { d: 3 }] }, o: { x: 1, y: 2, z: 3 }, e: 1 };
    assert.deepEqual(await write(rules, other, current), ["forbidden", "/b", "/o/z", "/e"]);
  });

  it("keeps what the caller does not see, and cannot guess it", async () => {
    const rules = { read: [grant({ fields: ["a"] })], update: [grant({ fields: ["a"] })] };
    const current = { a: 1, b: 2, c: { d: 3 } };
    assert.deepEqual(await write(rules, { a: 5 }, current), { ...current, a: 5 });
    assert.deepEqual(await write(rules, {}, current), { b: 2, c: { d: 3 } });
    for (const b of [2, 3])
      assert.deepEqual(await write(rules, { a: 1, b }, current), ["forbidden", "/b"]);
  });

  it("does not leave the boundary, nor change its fields", async () => {
    const rules = {
      update: [grant({ set: { by: "$me" } })],
      boundary: { tenant: { in: ["ann", "two"] } },
    };
    const current = { tenant: "ann", by: "x" };
    assert.deepEqual(await write(rules, { tenant: "ann" }, current), { tenant: "ann", by: "ann" });
    for (const tenant of ["two", "three", null])
      assert.deepEqual(await write(rules, { tenant }, current), ["forbidden", "/tenant"]);
    assert.deepEqual(await write(rules, {}, current), ["forbidden", "/tenant"]);
    const setting = { ...rules, update: [grant({ set: { tenant: "two" } })] };
    assert.deepEqual(await write(setting, current, current), ["forbidden", "/tenant"]);
  });
});
