// Access rules of a collection: public, by scope, or for the owner only.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

let app: TestApp;
let admin: Client;
let nobody: Client;
before(async () => {
  app = await startApp();
  admin = new Client(app);
  nobody = new Client(app, null);
});
after(() => app.stop());

async function define(name: string, definition: unknown): Promise<void> {
  const { status, body } = await admin.put(`/-/collections/${name}`, definition);
  assert.ok(status === 200 || status === 201, body);
}

interface List {
  readonly data: readonly { readonly id: string }[];
  readonly total: number;
  readonly pages: number;
}
type Usable = Readonly<Record<string, boolean>>;
interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly security: unknown }>> | undefined>
  >;
}
const idsOf = ({ data }: List): readonly string[] => data.map(({ id }) => id);

describe("a public collection", () => {
  before(async () => {
    await define("news", { access: { read: "public" }, cache: { maxAge: 60 } });
    await admin.put("/news/a", { n: 1 });
  });

  it("can be read without a token, and with a token that has no scope for it", async () => {
    const other = new Client(app, await app.token("people:read"));
    for (const client of [nobody, other]) {
      assert.equal((await client.get("/news/a")).status, 200);
      assert.equal((await client.json<List>("/news")).total, 1);
    }
    assertProblem(await nobody.get("/news/b"), "not-found");
  });

  it("may be stored by shared caches for its max-age", async () => {
    for (const path of ["/news/a", "/news"]) {
      const { headers } = await nobody.get(path);
      assert.equal(headers.get("cache-control"), "public, max-age=60");
      assert.ok(headers.get("etag"));
    }
    await define("news", { access: { read: "public" } });
    assert.equal((await nobody.get("/news/a")).headers.get("cache-control"), "public, no-cache");
    await define("news", { access: { read: "public" }, cache: { maxAge: 60 } });
    const notModified = await nobody.get("/news/a", {
      "if-none-match": (await nobody.get("/news/a")).headers.get("etag") ?? "",
    });
    assert.equal(notModified.status, 304);
  });

  it("rejects a write without a token: 401 that says how to authenticate", async () => {
    for (const answer of [
      await nobody.post("/news", {}),
      await nobody.put("/news/a", {}),
      await nobody.patch("/news/a", {}),
      await nobody.remove("/news/a"),
    ]) {
      assertProblem(answer, "unauthenticated");
      assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/);
    }
    assert.equal(await app.total("news"), 1);
  });

  it("still rejects an invalid token", async () => {
    const wrong = new Client(app, `rst_${"0".repeat(49)}`);
    assertProblem(await wrong.get("/news/a"), "unauthenticated");
  });

  it("stops being public as soon as the rule is removed", async () => {
    await define("news", {});
    assertProblem(await nobody.get("/news/a"), "unauthenticated");
    assert.equal((await admin.get("/news/a")).headers.get("cache-control"), "private, no-cache");
    await define("news", { access: { read: "public" } });
    assert.equal((await nobody.get("/news/a")).status, 200);
  });

  it("does not reveal others: an unknown and a private collection get the same response", async () => {
    await define("closed", {});
    const [unknown, closed] = [await nobody.get("/unknown/a"), await nobody.get("/closed/a")];
    assertProblem(unknown, "unauthenticated");
    assertProblem(closed, "unauthenticated");
  });
});

describe("a collection with public create", () => {
  before(() => define("letters", { access: { create: "public" } }));

  it("accepts a POST without a token, and shows the resource to nobody", async () => {
    const made = await nobody.post("/letters", { text: "hello" });
    assert.equal(made.status, 201, made.body);
    const location = made.headers.get("location") ?? "";
    assertProblem(await nobody.get(location), "unauthenticated");
    assertProblem(await nobody.get("/letters"), "unauthenticated");
    assert.equal((await admin.get(location)).status, 200);
  });

  it("accepts a PUT that creates, and rejects a PUT that replaces", async () => {
    assert.equal((await nobody.put("/letters/mine", { n: 1 })).status, 201);
    assertProblem(await nobody.put("/letters/mine", { n: 2 }), "unauthenticated");
    assert.equal((await admin.json<{ n: number }>("/letters/mine")).n, 1);
  });

  it("creates once for retries with the same key", async () => {
    const before = await app.total("letters");
    const key = { "idempotency-key": '"letter-1"' };
    for (let times = 0; times < 2; times++)
      assert.equal((await nobody.post("/letters", { n: 1 }, key)).status, 201);
    assert.equal(await app.total("letters"), before + 1);
  });
});

describe("idempotency keys of callers without a token", () => {
  it("are separate for different requests, so that nobody learns of another caller's key", async () => {
    const key = { "idempotency-key": '"shared"' };
    const first = await nobody.post("/letters", { text: "mine" }, key);
    const other = await nobody.post("/letters", { text: "another's" }, key);
    assert.deepEqual([first.status, other.status], [201, 201]);
    assert.equal(other.headers.get("idempotency-replayed"), null);
    assert.notEqual(other.headers.get("location"), first.headers.get("location"));
    const again = await nobody.post("/letters", { text: "mine" }, key);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.deepEqual([again.status, again.body], [201, ""]);
    const ann = new Client(app, await app.token("letters:create"));
    assert.equal((await ann.post("/letters", { text: "mine" }, key)).status, 201);
    assertProblem(await ann.post("/letters", { text: "other" }, key), "key-reused");
  });
});

describe("a collection in which callers see only what they own", () => {
  const access = { read: "owner", update: "owner", delete: "owner" };
  let ann: Client;
  let bob: Client;
  before(async () => {
    await define("notes", { access, indexed: ["n"] });
    ann = new Client(app, await app.token("notes:*"));
    bob = new Client(app, await app.token("notes:*"));
    for (const [client, id, n] of [
      [ann, "a1", 1],
      [bob, "b1", 1],
      [ann, "a2", 2],
      [bob, "b2", 2],
      [ann, "a3", 3],
    ] as const)
      assert.equal((await client.put(`/notes/${id}`, { n })).status, 201);
    assert.equal((await admin.put("/notes/admins", { n: 1 })).status, 201);
  });

  it("shows each caller its own resources, and an admin all of them", async () => {
    assert.equal((await ann.get("/notes/a1")).status, 200);
    assertProblem(await bob.get("/notes/a1"), "not-found");
    assert.equal((await admin.get("/notes/a1")).status, 200);
    assertProblem(await bob.get("/notes/admins"), "not-found");
  });

  it("counts only the caller's own resources in lists, totals and pages", async () => {
    const anns = await ann.json<List>("/notes?limit=2");
    assert.deepEqual([idsOf(anns), anns.total, anns.pages], [["a1", "a2"], 3, 2]);
    assert.deepEqual(idsOf(await ann.json<List>("/notes?limit=2&page=2")), ["a3"]);
    assert.deepEqual(idsOf(await bob.json<List>("/notes?sort=-createdAt")), ["b2", "b1"]);
    assert.deepEqual(idsOf(await bob.json<List>("/notes?n=1")), ["b1"]);
    assert.deepEqual(idsOf(await ann.json<List>("/notes?sort=-n")), ["a3", "a2", "a1"]);
    assert.equal((await admin.json<List>("/notes")).total, 6);
    assert.equal((await ann.get("/notes")).headers.get("x-total-count"), "3");
  });

  it("never returns a cached page of another caller", async () => {
    for (let round = 0; round < 3; round++)
      for (const [client, ids] of [
        [ann, ["a1", "a2", "a3"]],
        [bob, ["b1", "b2"]],
      ] as const)
        assert.deepEqual(idsOf(await client.json<List>("/notes")), ids);
  });

  it("returns 404 for a change of another owner's resource, and 409 for its id in a PUT", async () => {
    const before = await admin.state("notes");
    for (const answer of [
      await bob.patch("/notes/a1", { n: 9 }),
      await bob.remove("/notes/a1"),
      await bob.remove("/notes/a1", { "if-match": "*" }),
      await bob.batch([{ method: "DELETE", path: "/notes/a1" }]),
    ])
      assertProblem(answer, "not-found");
    for (const answer of [
      await bob.put("/notes/a1", { n: 9 }),
      await bob.batch([{ method: "PUT", path: "/notes/a1", body: {} }]),
    ])
      assertProblem(answer, "conflict");
    assert.deepEqual(await admin.state("notes"), before);
  });

  it("keeps the owner when an admin changes the resource", async () => {
    assert.equal((await admin.put("/notes/a1", { n: 5 })).status, 200);
    assert.equal((await ann.json<{ n: number }>("/notes/a1")).n, 5);
    assert.equal((await ann.patch("/notes/a1", { n: 1 })).status, 200);
    assertProblem(await bob.get("/notes/a1"), "not-found");
  });

  it("sets the caller as owner of what a batch creates, also within the batch", async () => {
    const operations = [
      { method: "PUT", path: "/notes/b3", body: { n: 3 } },
      { method: "PATCH", path: "/notes/b3", body: { n: 4 } },
    ];
    assert.equal((await bob.batch(operations)).status, 200);
    assertProblem(await ann.get("/notes/b3"), "not-found");
    assert.equal((await bob.remove("/notes/b3")).status, 204);
  });

  it("has a feed of what the caller owns", async () => {
    interface Changes {
      readonly changes: readonly { readonly resource?: { readonly id: string } }[];
    }
    const idsFor = async (client: Client) =>
      (await client.json<Changes>("/notes?since=0")).changes.flatMap(({ resource }) =>
        resource === undefined ? [] : [resource.id],
      );
    const own = (await ann.json<List>("/notes?limit=1000")).data.map(({ id }) => id);
    assert.deepEqual((await idsFor(ann)).toSorted(), own.toSorted());
    assert.ok((await idsFor(admin)).length > own.length);
  });

  it("hides resources without an owner from all but admins", async () => {
    await admin.put("/older/x", { n: 1 });
    await define("older", { access });
    const caller = new Client(app, await app.token("older:*"));
    assertProblem(await caller.get("/older/x"), "not-found");
    assert.equal((await caller.json<List>("/older")).total, 0);
    assert.equal((await admin.json<List>("/older")).total, 1);
  });

  it("also requires the scopes", async () => {
    const reader = new Client(app, await app.token("notes:read"));
    assertProblem(await reader.post("/notes", {}), "insufficient-scope");
    assertProblem(await nobody.get("/notes"), "unauthenticated");
  });
});

describe("a collection that is for everyone, and by name for some", () => {
  it("is stored by shared caches only as it is shown without a token", async () => {
    const read = [
      { name: "all", to: "everyone" },
      { name: "staff", to: { scope: "staff:read" } },
    ];
    await define("menu", { access: { read }, cache: { maxAge: 60 } });
    await admin.put("/menu/a", { n: 1 });
    const other = new Client(app, await app.token("people:read"));
    for (const path of ["/menu", "/menu/a", "/menu?limit=1"])
      for (const client of [nobody, other, admin, nobody, other, admin]) {
        const { headers } = await client.get(path);
        const wanted = client === nobody ? "public, max-age=60" : "private, no-cache";
        assert.equal(headers.get("cache-control"), wanted, path);
        assert.match(headers.get("vary") ?? "", /\bAuthorization\b/);
      }
  });
});

describe("a collection with owners for one verb", () => {
  for (const verb of ["read", "update", "delete"])
    it(`hides what others own where ${verb} is for owners`, async () => {
      await define("ledger", { access: { [verb]: "owner" } });
      const [one, other] = [
        new Client(app, await app.token("ledger:*")),
        new Client(app, await app.token("ledger:*")),
      ];
      await one.put("/ledger/a", { n: 1 });
      // What cannot be read cannot be changed either.
      const isHiddenFrom = (each: string) => verb === "read" || verb === each;
      const asked: readonly (readonly [string, Answer])[] = [
        ["read", await other.get("/ledger/a")],
        ["update", await other.patch("/ledger/a", { n: 2 })],
        ["delete", await other.remove("/ledger/a", { "if-none-match": '"x"' })],
      ];
      for (const [each, { status, body }] of asked)
        assert.equal(status === 404, isHiddenFrom(each), `${each} ${status} ${body}`);
      await admin.put("/ledger/b", { n: 1 });
      assert.equal((await other.put("/ledger/b", {})).status, isHiddenFrom("update") ? 409 : 200);
      await one.remove("/ledger/a");
      await admin.remove("/ledger/b");
    });
});

describe("a verb that is for administrators", () => {
  let all: Client;
  const requests: Readonly<Record<string, (client: Client) => Promise<Answer>>> = {
    read: (client) => client.get("/vault/a"),
    create: (client) => client.post("/vault", { n: 2 }),
    update: (client) => client.patch("/vault/a", { n: 3 }),
    delete: (client) => client.remove("/vault/a"),
  };
  const verbs = Object.keys(requests);
  before(async () => {
    all = new Client(app, await app.token("*:*"));
  });

  for (const verb of verbs)
    it(`is nobody else's, and nothing else of ${verb} changes`, async () => {
      await define("vault", { access: { [verb]: "admin" } });
      await admin.put("/vault/a", { n: 1 });
      for (const each of verbs) {
        const before = await admin.state("vault");
        if (each === verb) {
          await admin.rejects("vault", "forbidden", () => requests[each]?.(all) as Promise<Answer>);
          await admin.rejects(
            "vault",
            "unauthenticated",
            () => requests[each]?.(nobody) as Promise<Answer>,
          );
          assert.equal((await admin.json<Usable>("/-/access/vault"))[each], true);
        } else assert.ok(((await requests[each]?.(all))?.status ?? 500) < 300, each);
        assert.equal((await all.json<Usable>("/-/access/vault"))[each], each !== verb);
        if (each === verb) assert.deepEqual(await admin.state("vault"), before);
      }
      for (const each of verbs) {
        await admin.put("/vault/a", { n: 1 });
        assert.ok(((await requests[each]?.(admin))?.status ?? 500) < 300, each);
      }
    });

  it("is stored by no shared cache, and the OpenAPI document asks for the scope admin", async () => {
    await define("vault", { access: { read: "admin" }, cache: { maxAge: 60 } });
    await admin.put("/vault/a", { n: 1 });
    for (const path of ["/vault", "/vault/a"])
      for (let round = 0; round < 2; round++) {
        const { headers } = await admin.get(path);
        assert.equal(headers.get("cache-control"), "private, no-cache");
      }
    const document = await admin.json<Document>("/-/openapi.json");
    assert.deepEqual(document.paths["/vault/{id}"]?.get?.security, [{ bearer: ["admin"] }]);
    assert.deepEqual(document.paths["/vault/{id}"]?.delete?.security, [
      { bearer: ["vault:delete"] },
    ]);
  });

  it("has a PUT that creates or replaces", async () => {
    await define("vault", { access: { create: "admin" } });
    await admin.put("/vault/a", { n: 1 });
    assert.equal((await all.put("/vault/a", { n: 2 })).status, 200);
    await admin.rejects("vault", "forbidden", () => all.put("/vault/new", { n: 2 }));
    await define("vault", { access: { update: "admin" } });
    assert.equal((await all.put("/vault/new", { n: 2 })).status, 201);
    await admin.rejects("vault", "forbidden", () => all.put("/vault/a", { n: 3 }));
  });
});
