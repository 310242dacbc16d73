// Feeds of all, of one owner and of what matches a filter; and positions that are too old.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Access } from "../../src/domain/access.ts";
import { type FeedPage, Feeds, type SentPosition } from "../../src/domain/feeds.ts";
import { readFeedPosition, readSealedPosition } from "../../src/model/feed-position.ts";
import type { Principal } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import type { Filter, ListRequest } from "../../src/model/query/list-request.ts";
import { leasesName } from "../../src/model/system-collections.ts";
import type { Retention } from "../../src/store/core/retention.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Change, Put, ResourceChange, Store } from "../../src/store/store.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { all, once } from "../store/contract/change-helpers.ts";
import { TestDatabases } from "../store/postgres/test-databases.ts";

type Test = (store: Store, countKeys: () => Promise<number>) => Promise<void>;
type Open = (test: Test, retention?: Retention) => Promise<void>;

const databases = new TestDatabases();
const engines: Readonly<Record<string, Open>> = {
  async sqlite(test, retention) {
    const path = await mkdtemp(join(tmpdir(), "restante-"));
    const store = await openSqlite({ path, retention });
    const count = async () => {
      const database = new DatabaseSync(join(path, "restante.db"), { readOnly: true });
      const row = database.prepare("SELECT count(*) AS n FROM idempotency_keys").get();
      database.close();
      return Number(row?.n);
    };
    try {
      await test(store, count);
    } finally {
      await store.close();
      await rm(path, { recursive: true });
    }
  },
  postgres: (test, retention) =>
    databases.in(async (database) =>
      test(await database.open({ retention }), async () => {
        const [row] = await database.admin((sql) => sql`SELECT count(*) FROM idempotency_keys`);
        return Number(row?.count);
      }),
    ),
};

const definition = JSON.stringify({ access: { read: "owner", create: "owner" } });
const start: Change = { kind: "define", collection: "notes", definition, at: 1 };

const put = (id: string, n: number, more: Partial<Put> = {}): Put => ({
  ...{ kind: "put", collection: "notes", id, fields: JSON.stringify({ n }) },
  ...{ at: Date.now(), expect: "anything", ...more },
});
const remove = (id: string, at = Date.now()): Change => ({
  ...{ kind: "remove", collection: "notes", id, at, expect: "anything" },
});

const principal = (subject: string, scope: string): Principal =>
  ({
    ...{ kind: "token", subject, scopes: [scope], roles: [] },
  }) as unknown as Principal;

/** A client's copy of what one caller sees. */
class Copy {
  readonly ids = new Map<string, number>();
  next = "0";
  readonly #feeds: Feeds;
  readonly #store: Store;
  readonly #principal: Principal;
  readonly #filters: readonly Filter[];

  constructor(store: Store, who: Principal, filters: readonly Filter[] = []) {
    this.#store = store;
    this.#feeds = new Feeds(store, 2 ** 20);
    this.#principal = who;
    this.#filters = filters;
  }

  async read(since: string, limit = 20): Promise<FeedPage | Problem> {
    const collection = await this.#store.collection("notes");
    const access = await new Access(this.#store, Date.now).collection(this.#principal, "notes");
    const { rules } = access;
    assert.ok(collection && rules);
    const listRequest: ListRequest = {
      ...{
        filters: this.#filters,
        where: undefined,
        search: undefined,
        aggregate: undefined,
        sort: [],
        fields: [],
        expand: [],
        page: 1,
        limit,
      },
      ...{ cursor: undefined, isCounted: true, isFromUrl: true, errors: [] },
    };
    const position: SentPosition | undefined =
      since === "0" ? 0 : (readFeedPosition(since) ?? readSealedPosition(since));
    assert.ok(position !== undefined);
    const target = { access, collection, rules };
    return this.#feeds.since(target, { since: position, listRequest });
  }

  /** Reads on to the end, and returns what was read. */
  async follow(limit = 20): Promise<readonly string[]> {
    const seen: string[] = [];
    for (;;) {
      const page = await this.read(this.next, limit);
      assert.ok(!(page instanceof Problem), JSON.stringify(page));
      assert.ok(page.entries.length <= limit);
      for (const entry of page.entries) {
        seen.push("kind" in entry ? `-${entry.id}` : entry.id);
        if ("kind" in entry) this.ids.delete(entry.id);
        else this.ids.set(entry.id, Number(JSON.parse(entry.fields).n));
      }
      this.next = page.next;
      if (!page.isMore) return seen;
    }
  }
}

const admin = principal("root", "admin");
const reader = (subject: string) => principal(subject, "notes:read");
const atLeast = (n: number): Filter => ({
  ...{ field: "n", operator: "gte", operand: String(n), place: { parameter: "n[gte]" } },
});

for (const [name, open] of Object.entries(engines))
  describe(`feeds on ${name}`, () => {
    it("with a filter show what matches, and remove what no longer does", () =>
      open(async (store) => {
        await store.commit([start, put("a", 5), put("b", 1), put("c", 7), remove("c")]);
        const copy = new Copy(store, admin, [atLeast(5)]);
        assert.deepEqual(await copy.follow(), ["a"]);
        await store.commit([put("b", 6), put("a", 2), put("d", 0)]);
        assert.deepEqual(await copy.follow(), ["b", "-a", "-d"]);
        await store.commit([remove("b")]);
        assert.deepEqual(await copy.follow(1), ["-b"]);
      }));

    it("of an owner contain only what is theirs, and what they lose", () =>
      open(async (store) => {
        const owned = (id: string, owner: string) => put(id, 1, { owner });
        await store.commit([start, owned("a", "ann"), owned("b", "bob"), owned("c", "ann")]);
        const [ann, bob] = [new Copy(store, reader("ann")), new Copy(store, reader("bob"))];
        assert.deepEqual([await ann.follow(1), await bob.follow()], [["a", "c"], ["b"]]);
        await store.commit([remove("b"), owned("b", "ann"), remove("a")]);
        await store.commit([put("c", 1, { setOwner: "bob" })]);
        assert.deepEqual(await bob.follow(), ["-b", "c"]);
        assert.deepEqual(await ann.follow(), ["b", "-a", "-c"]);
        const before = ann.next;
        await store.commit([owned("d", "bob"), remove("d")]);
        assert.deepEqual(await ann.follow(), []);
        assert.notEqual(ann.next, before);
        assert.ok(
          (await ann.read(bob.next)) instanceof Problem,
          "a position belongs to its caller",
        );
      }));

    it("bring every copy up to date", () =>
      open(async (store) => {
        const random = randomNumbers(newSeed(`copies on ${name}`));
        const choose = <T>(choices: readonly T[]): T =>
          choices[Math.floor(random() * choices.length)] as T;
        await store.commit([start]);
        const people = ["ann", "bob", "carl"];
        const copies = [
          { who: undefined, least: 0, copy: new Copy(store, admin) },
          { who: undefined, least: 3, copy: new Copy(store, admin, [atLeast(3)]) },
          ...people.map((who) => ({ who, least: 0, copy: new Copy(store, reader(who)) })),
          { who: "ann", least: 2, copy: new Copy(store, reader("ann"), [atLeast(2)]) },
        ];
        for (let step = 0; step < runs(25, 300); step++) {
          const changes = Array.from({ length: 1 + Math.floor(random() * 4) }, (): Change => {
            const id = `id-${Math.floor(random() * 6)}`;
            if (random() < 0.3) return remove(id);
            const n = Math.floor(random() * 5);
            const change = put(id, n, { owner: choose(people) });
            return random() < 0.3 ? { ...change, setOwner: choose([...people, null]) } : change;
          });
          await store.commit(changes);
          const slice = await store.slice("notes", { offset: 0, limit: 100, order: "created" });
          for (const { who, least, copy } of copies) {
            if (random() < 0.4) continue;
            await copy.follow(1 + Math.floor(random() * 4));
            const expected = (slice?.resources ?? [])
              .map(({ id, owner, fields }) => ({ id, owner, n: Number(JSON.parse(fields).n) }))
              .filter(({ owner, n }) => (who === undefined || owner === who) && n >= least)
              .map(({ id, n }): [string, number] => [id, n]);
            assert.deepEqual(copy.ids, new Map(expected));
          }
        }
      }));

    it("are gone when removals after the position are no longer stored", () =>
      open(
        async (store) => {
          await store.commit([start, put("a", 1), put("b", 1), put("c", 1)]);
          const copy = new Copy(store, admin);
          await copy.follow();
          const old = copy.next;
          await store.commit([remove("a"), put("b", 2)]);
          // Without further writes.
          for (;;) {
            const page = await copy.read(old);
            if (page instanceof Problem) {
              assert.equal(page.kind, "gone");
              assert.match(page.detail, /too old: the server no longer stores what was removed/);
              break;
            }
            await sleep(20);
          }
          const fresh = new Copy(store, admin);
          assert.deepEqual(await fresh.follow(1), ["c", "b"], "a new copy can be made");
          assert.deepEqual(await fresh.follow(), [], "and be up to date");
          const other = new Copy(store, reader("ann"));
          assert.deepEqual(await other.follow(), []);
        },
        { removalsMs: 0, pauseMs: 20 },
      ));

    it("of volatile collections are gone at once, and those of others are not", () =>
      open(
        async (store) => {
          await store.commit([start, { ...start, collection: leasesName }]);
          const removalsIn = async (collection: string) => {
            const first = { epoch: "", revision: 1, time: 0 };
            const begun = await store.since(collection, 0, { limit: 1 });
            assert.ok(begun && typeof begun === "object");
            const position = { ...first, epoch: begun.epoch };
            await store.commit([
              { ...put("a", 1), collection },
              { ...(remove("a") as ResourceChange), collection },
            ]);
            return () => store.since(collection, position, { limit: 1 });
          };
          const [kept, volatile] = [await removalsIn("notes"), await removalsIn(leasesName)];
          while ((await volatile()) !== "expired") await sleep(20);
          const feed = await kept();
          assert.ok(typeof feed === "object");
          assert.equal(feed.entries.length, 1);
        },
        { removalsMs: 1_000_000, pauseMs: 20 },
      ));

    it("are gone also when a clock that was ahead has removed something", () =>
      open(
        async (store) => {
          await store.commit([start, put("a", 1), put("b", 1)]);
          const copy = new Copy(store, admin);
          await copy.follow();
          const ahead = Date.now() + 365 * 24 * 3_600_000;
          await store.commit([remove("a", ahead), remove("b")]);
          while (!((await copy.read(copy.next)) instanceof Problem)) await sleep(20);
        },
        { removalsMs: 0, pauseMs: 20 },
      ));

    it("of callers who see a part through rules expire with former states", () =>
      open(
        async (store) => {
          const read = [{ name: "mine", to: "token", where: { by: "$me" } }];
          const ruled = { ...start, definition: JSON.stringify({ access: { read } }) };
          const by = (subject: string) => put("a", 1, { fields: JSON.stringify({ by: subject }) });
          await store.commit([ruled, by("ann")]);
          const copy = new Copy(store, reader("ann"));
          assert.deepEqual(await copy.follow(), ["a"]);
          await store.commit([by("bob")]);
          for (;;) {
            const page = await copy.read(copy.next);
            if (page instanceof Problem) {
              assert.match(page.detail, /too old: the server no longer stores what was removed/);
              break;
            }
            assert.deepEqual(
              page.entries.map((entry) => "kind" in entry && entry.id),
              ["a"],
            );
            await sleep(20);
          }
          assert.deepEqual(await new Copy(store, reader("ann")).follow(), []);
          assert.deepEqual(await new Copy(store, reader("bob")).follow(), ["a"]);
        },
        { removalsMs: 0, pauseMs: 20 },
      ));

    it("are read beside keys, which are deleted when they expire", () =>
      open(
        async (store, countKeys) => {
          const at = Date.now();
          const keyed = (key: string, expiresAt: number) =>
            all([put(key, 1)], once(key, { at, expiresAt }));
          await store.commit([start, keyed("short", at + 1), keyed("long", at + 10_000_000)]);
          // Without further writes.
          while ((await countKeys()) > 1) await sleep(20);
          const [outcome] = await store.commit([keyed("long", at + 10_000_000)]);
          assert.ok(outcome?.kind === "all" && outcome.isReplay);
        },
        { removalsMs: 1_000_000, pauseMs: 20 },
      ));
  });
