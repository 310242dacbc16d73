// Feeds through rules: a copy that follows the changes equals the caller's list, and shows nothing else.
// @tier all

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { PostgresServer } from "../postgres-server.ts";
import { start } from "../process.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { itOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, type Requester } from "./client.ts";
import { assertProblem } from "./expect.ts";

const readGrants = [
  {
    name: "published",
    to: "everyone",
    where: { status: "published" },
    fields: ["title", "status"],
  },
  { name: "mine", to: "token", where: { author: "$me" } },
  { name: "project", to: "token", where: { "project.lead": "$me" } },
  { name: "team", to: "token", where: { team: { in: "$my.teams" } }, fields: ["title", "team"] },
  { name: "review", to: { scope: "reviews:read" }, where: { status: "submitted" } },
];

const properties = {
  title: { type: "string" },
  status: { type: "string" },
  author: { type: "string" },
  team: { type: "string" },
  pay: { type: "integer" },
  project: { type: "string" },
};

const posts = {
  schema: { type: "object", properties },
  references: { project: { collection: "projects" } },
  access: { read: readGrants },
};

const memberships = {
  schema: {
    type: "object",
    properties: { user: { type: "string" }, team: { type: "string" } },
  },
};

const sets = { teams: { collection: "memberships", where: { user: "$me" }, field: "team" } };

const projects = {
  schema: { type: "object", properties: { lead: { type: "string" }, name: { type: "string" } } },
};

interface Page {
  readonly changes: readonly {
    readonly resource?: { readonly id: string };
    readonly removed?: string;
    readonly removedAt?: string;
  }[];
  readonly next: string;
  readonly more: boolean;
}

/** The copy of one caller. */
class Copy {
  readonly client: Client;
  readonly #path: string;
  readonly resources = new Map<string, unknown>();
  next = "0";

  constructor(client: Client, path = "/posts?") {
    this.client = client;
    this.#path = path;
  }

  /** Reads one page, and returns what was in it. */
  async read(limit = 100): Promise<{ readonly seen: readonly string[]; readonly more: boolean }> {
    const answer = await this.client.get(`${this.#path}since=${this.next}&limit=${limit}`);
    assert.equal(answer.status, 200, answer.body);
    const page: Page = JSON.parse(answer.body);
    assert.ok(page.changes.length <= limit);
    for (const { resource, removed = "" } of page.changes)
      if (resource === undefined) this.resources.delete(removed);
      else this.resources.set(resource.id, resource);
    this.next = page.next;
    const seen = page.changes.map(({ resource, removed }) => resource?.id ?? `-${removed}`);
    return { seen, more: page.more };
  }

  /** Reads to the end. `meanwhile` runs between pages. */
  async follow(limit = 100, meanwhile?: () => Promise<void>): Promise<readonly string[]> {
    const all: string[] = [];
    for (;;) {
      const { seen, more } = await this.read(limit);
      all.push(...seen);
      if (!more) return all;
      await meanwhile?.();
    }
  }

  /** Whether the position can be used. */
  async isValid(): Promise<boolean> {
    const answer = await this.client.get(`${this.#path}since=${this.next}&limit=1`);
    if (answer.status === 200) return true;
    assertProblem(answer, "gone");
    return false;
  }

  /** Begins a new copy. */
  restart(): void {
    this.next = "0";
    this.resources.clear();
  }

  async listed(): Promise<ReadonlyMap<string, unknown>> {
    const { status, body } = await this.client.get(`${this.#path}limit=100`);
    assert.equal(status, 200, body);
    const { data } = JSON.parse(body) as { readonly data: readonly { readonly id: string }[] };
    return new Map(data.map((each) => [each.id, each]));
  }

  async assertSame(words = ""): Promise<void> {
    const byId = (one: readonly [string, unknown], other: readonly [string, unknown]) =>
      one[0] < other[0] ? -1 : 1;
    const [copy, listed] = [this.resources, await this.listed()].map((all) => [...all].sort(byId));
    assert.deepEqual(copy, listed, words);
  }
}

const tokenOf = async (app: Requester, subject: string, more: object = {}): Promise<Client> => {
  const wanted = { name: subject, subject, scopes: ["posts:read"], ...more };
  const made = await new Client(app).post("/-/tokens", wanted);
  assert.equal(made.status, 201, made.body);
  return new Client(app, JSON.parse(made.body).token);
};

const done = async (answer: Promise<{ readonly status: number; readonly body: string }>) => {
  const { status, body } = await answer;
  assert.ok([200, 201, 204].includes(status), `${status} ${body}`);
};

for (const store of ["sqlite", "postgres"]) {
  describe(`feeds through rules, on ${store}`, () => {
    const it = itOn(store);
    let app: TestApp;
    let admin: Client;
    let ann: Client;
    let bob: Client;
    let anyone: Client;

    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      ann = await tokenOf(app, "ann");
      bob = await tokenOf(app, "bob");
      anyone = new Client(app, null);
    });
    after(() => app.stop());

    /** Begins with empty collections, and returns copies of them. */
    async function begin(definition: object = posts): Promise<readonly [Copy, Copy, Copy]> {
      await admin.remove("/-/collections/posts");
      await done(admin.put("/-/collections/memberships", memberships));
      await done(admin.put("/-/access", { sets }));
      await done(admin.put("/-/collections/projects", projects));
      await done(admin.put("/projects/p", { lead: "ann" }));
      await done(admin.put("/projects/q", { lead: "bob" }));
      await done(admin.put("/-/collections/posts", definition));
      return [new Copy(ann), new Copy(bob), new Copy(anyone)];
    }

    const put = (id: string, fields: object) => done(admin.put(`/posts/${id}`, fields));

    it("report what leaves the view as removed, what enters it as there, and nothing else", async () => {
      const [annCopy, bobCopy, openCopy] = await begin();
      const copies = [annCopy, bobCopy, openCopy];
      await put("a", { title: "A", author: "ann", status: "draft" });
      await put("b", { title: "B", author: "bob", status: "draft", project: "p" });
      await put("c", { title: "C", author: "cid", status: "published", pay: 1 });
      const expectAll = async (...expected: readonly (readonly string[])[]) => {
        for (const [index, copy] of copies.entries()) {
          assert.deepEqual(await copy.follow(), expected[index], `copy ${index}`);
          await copy.assertSame(`copy ${index}`);
        }
      };
      await expectAll(["a", "b", "c"], ["b", "c"], ["c"]);
      await expectAll([], [], []);
      await put("a", { title: "A", author: "bob", status: "draft" });
      await put("c", { title: "C", author: "cid", status: "draft", pay: 1 });
      await expectAll(["-a", "-c"], ["a", "-c"], ["-c"]);
      // Nobody sees these.
      await put("c", { title: "hidden", author: "cid", status: "draft" });
      await put("d", { title: "D", author: "cid", status: "draft" });
      await done(admin.remove("/posts/d"));
      await put("e", { title: "E", author: "ann", status: "draft" });
      await put("e", { title: "E", author: "cid", status: "draft" });
      await expectAll([], [], []);
      await put("c", { title: "C", author: "cid", status: "published" });
      await done(admin.remove("/posts/b"));
      await expectAll(["-b", "c"], ["-b", "c"], ["c"]);
      await put("b", { title: "B", author: "cid", status: "draft", project: "p" });
      await expectAll(["b"], [], []);
    });

    it("show neither writes of hidden fields nor their times", async () => {
      const [annCopy, , openCopy] = await begin();
      await put("a", { title: "A", status: "published", pay: 1 });
      await put("b", { title: "B", status: "published", pay: 1, author: "ann" });
      await openCopy.follow();
      await annCopy.follow();
      await put("a", { title: "A", status: "published", pay: 2 });
      await put("b", { title: "B", status: "published", pay: 2, author: "ann" });
      assert.deepEqual(await openCopy.follow(), []);
      assert.deepEqual(await annCopy.follow(), ["b"]);
      await put("a", { title: "A", status: "draft", pay: 2 });
      const left = JSON.parse((await admin.get("/posts/a")).body).updatedAt;
      await put("a", { title: "A", status: "draft", pay: 3 });
      const { changes }: Page = JSON.parse(
        (await anyone.get(`/posts?since=${openCopy.next}`)).body,
      );
      assert.deepEqual(changes, [{ removed: "a", removedAt: left }]);
      const first = await anyone.get("/posts?since=0");
      assert.equal(first.headers.get("last-modified"), null);
      assert.equal(first.headers.get("etag"), null);
      assert.ok(!first.body.includes("pay") && !first.body.includes("updatedAt"));
    });

    it("show nothing when another grant shows the same fields", async () => {
      const read = [
        { name: "open", to: "everyone", fields: ["title", "status"] },
        { name: "paid", to: "everyone", where: { pay: 1 }, fields: ["title"] },
        { name: "team", to: "everyone", where: { pay: 2 }, fields: ["title", "team"] },
      ];
      const [, , openCopy] = await begin({ ...posts, access: { read } });
      await put("a", { title: "A", status: "s", pay: 0 });
      await put("b", { title: "B", status: "s", pay: 1, team: "t" });
      await openCopy.follow();
      await put("a", { title: "A", status: "s", pay: 1 });
      await put("b", { title: "B", status: "s", pay: 0, team: "t" });
      assert.deepEqual(await openCopy.follow(), []);
      await openCopy.assertSame();
      await put("a", { title: "C", status: "s", pay: 0 });
      await put("b", { title: "B", status: "s", pay: 2, team: "t" });
      assert.deepEqual(await openCopy.follow(), ["a", "b"]);
      await put("b", { title: "B", status: "s", pay: 1, team: "t" });
      assert.deepEqual(await openCopy.follow(), ["b"]);
      await openCopy.assertSame();
    });

    it("show no writes of what is hidden in an object or a file that they show", async () => {
      const hidden = { type: "string", writeOnly: true };
      const grant = {
        name: "part",
        to: "everyone",
        fields: ["title", "account", "photo.name", "scan"],
      };
      const [, , openCopy] = await begin({
        schema: {
          type: "object",
          properties: {
            title: { type: "string" },
            account: { type: "object", properties: { holder: { type: "string" }, pin: hidden } },
            photo: { type: "object", properties: { name: { type: "string" } } },
            scan: { type: "object", properties: { name: hidden } },
          },
        },
        access: { read: [grant] },
      });
      const upload = (path: string, name: string, text: string) =>
        done(
          admin.put(path, text, {
            "content-type": "text/plain",
            "content-disposition": `inline; filename="${name}"`,
          }),
        );
      for (const id of ["a", "b", "c"]) await put(id, { title: id });
      await put("a", { title: "a", account: { holder: "Ann", pin: "1" } });
      await upload("/posts/b/photo", "b.txt", "one");
      await upload("/posts/c/scan", "c.txt", "one");
      await openCopy.follow();
      await done(admin.patch("/posts/a", { account: { pin: "2" } }));
      await upload("/posts/b/photo", "b.txt", "other");
      await upload("/posts/c/scan", "d.txt", "one");
      assert.deepEqual(await openCopy.follow(), []);
      await openCopy.assertSame();
      await done(admin.patch("/posts/a", { account: { holder: "Bob" } }));
      await upload("/posts/b/photo", "e.txt", "other");
      await upload("/posts/c/scan", "d.txt", "other");
      assert.deepEqual(await openCopy.follow(), ["a", "b", "c"]);
      await openCopy.assertSame();
    });

    it("miss nothing when resources change while pages are read", async () => {
      const [annCopy] = await begin();
      await put("a", { title: "A", author: "ann" });
      await put("b", { title: "B", author: "ann" });
      await annCopy.follow();
      // The state that ends after the first page was never shown to the caller.
      await put("a", { title: "A", author: "bob" });
      await put("b", { title: "B2", author: "ann" });
      await put("c", { title: "C", author: "ann" });
      await put("a", { title: "A2", author: "bob" });
      assert.deepEqual(await annCopy.read(1), { seen: ["b"], more: true });
      await put("c", { title: "C", author: "bob" });
      await put("b", { title: "B3", author: "bob" });
      await put("b", { title: "B4", author: "bob" });
      await annCopy.follow(1);
      await annCopy.assertSame();
      assert.equal(annCopy.resources.size, 0);
    });

    it("send what a hidden write moves behind the end of a new copy", async () => {
      const [, , openCopy] = await begin();
      for (const id of ["a", "b", "c"]) await put(id, { title: id, status: "published", pay: 1 });
      assert.deepEqual(await openCopy.read(1), { seen: ["a"], more: true });
      await put("b", { title: "b", status: "published", pay: 2 });
      assert.deepEqual(await openCopy.read(1), { seen: ["c"], more: true });
      assert.deepEqual(await openCopy.read(1), { seen: ["b"], more: false });
      await openCopy.assertSame();
      await put("b", { title: "b", status: "published", pay: 3 });
      assert.deepEqual(await openCopy.follow(), []);
    });

    it("take filters, which do not show hidden fields", async () => {
      await begin();
      const drafts = new Copy(ann, "/posts?status=draft&");
      const paid = new Copy(anyone, "/posts?pay=1&");
      await put("a", { title: "A", author: "ann", status: "draft" });
      await put("b", { title: "B", status: "published", pay: 1 });
      assert.deepEqual([await drafts.follow(), await paid.follow()], [["a"], []]);
      await put("a", { title: "A", author: "ann", status: "done" });
      await put("b", { title: "B2", status: "published", pay: 1 });
      const seen = [await drafts.follow(), await paid.follow()];
      // What does not match is removed: the copy may have an earlier state of it.
      assert.deepEqual(seen, [["-a", "-b"], ["-b"]]);
      assertProblem(await ann.get("/posts?since=0&sort=title"), "invalid-parameter");
    });

    it("are 410 with the reason when what the caller sees depends on something else now", async () => {
      const [annCopy, bobCopy] = await begin();
      await put("a", { title: "A", author: "ann" });
      const expectGone = async (copy: Copy, reason: RegExp) => {
        const answer = await copy.client.get(`/posts?since=${copy.next}`);
        const { detail } = assertProblem(answer, "gone");
        assert.match(detail, reason);
        assert.match(detail, /since=0/);
        copy.restart();
        await copy.follow();
        await copy.assertSame();
      };
      await annCopy.follow();
      await bobCopy.follow();
      // The position of another caller, and one of a caller who sees everything.
      bobCopy.next = annCopy.next;
      await expectGone(bobCopy, /belongs to another caller/);
      const whole = JSON.parse((await admin.get("/posts?since=0")).body).next;
      bobCopy.next = whole;
      await expectGone(bobCopy, /another caller/);
      await done(admin.put("/projects/q", { lead: "ann" }));
      await expectGone(annCopy, /refer to has changed/);
      await expectGone(bobCopy, /refer to has changed/);
      await done(admin.put("/-/collections/posts", { ...posts, indexed: ["title"] }));
      await expectGone(annCopy, /rules of this collection have changed/);
      await expectGone(bobCopy, /rules of this collection have changed/);
      // A membership that gives nothing new changes nothing.
      await done(admin.put("/memberships/1", { user: "ann", team: "red" }));
      await expectGone(annCopy, /sets, roles or scopes/);
      await bobCopy.follow();
      await done(admin.put("/memberships/2", { user: "ann", team: "red" }));
      await put("c", { title: "C", team: "red" });
      assert.deepEqual(await annCopy.follow(), ["c"]);
      await done(admin.remove("/memberships/1"));
      assert.deepEqual(await annCopy.follow(), []);
      await done(admin.remove("/memberships/2"));
      await expectGone(annCopy, /sets, roles or scopes/);
      // A role gives a scope, which a grant is for.
      await done(admin.put("/-/access", { sets, roles: { helper: ["posts:read"] } }));
      const helper = new Copy(await tokenOf(app, "eva", { scopes: [], roles: ["helper"] }));
      await helper.follow();
      await done(
        admin.put("/-/access", { sets, roles: { helper: ["posts:read", "others:read"] } }),
      );
      assert.deepEqual(await helper.follow(), []);
      await put("b", { title: "B", author: "ann", status: "submitted" });
      await done(
        admin.put("/-/access", { sets, roles: { helper: ["posts:read", "reviews:read"] } }),
      );
      await expectGone(helper, /sets, roles or scopes/);
      assert.equal(helper.resources.size, 1);
    });

    it("remove what does not match a filter, when the caller sees a change of it", async () => {
      await begin();
      for (const id of ["b", "c"]) await admin.remove(`/posts/${id}`);
      await put("a", { title: "A", status: "published", pay: 1 });
      const copy = new Copy(anyone, "/posts?title=B&");
      assert.deepEqual(await copy.follow(), []);
      // Nobody who follows sees the pay.
      await put("a", { title: "A", status: "published", pay: 2 });
      assert.deepEqual(await copy.follow(), []);
      await put("a", { title: "C", status: "published", pay: 2 });
      assert.deepEqual(await copy.follow(), ["-a"]);
      // One that is new can be the caller's own.
      await put("b", { title: "A", status: "published" });
      await put("c", { title: "A", status: "draft" });
      assert.deepEqual(await copy.follow(), ["-b"]);
      await put("c", { title: "A", status: "published" });
      assert.deepEqual(await copy.follow(), ["-c"]);
    });

    it("keep copies with filters right, also when clients add what they wrote", async () => {
      const random = randomNumbers(newSeed(`filtered feeds through rules, on ${store}`, 1));
      const pick = <T>(values: readonly T[]): T =>
        values[Math.floor(random() * values.length)] as T;
      await begin();
      const filters = ["title=x&", "status[ne]=draft&", "author=ann&", "pay[gte]=2&"];
      const copies = [ann, bob, anyone].flatMap((caller) =>
        filters.map((filter) => new Copy(caller, `/posts?${filter}`)),
      );
      const write = async (id = pick(["a", "b", "c", "d"])) => {
        if (random() < 0.2) return void (await admin.remove(`/posts/${id}`));
        await put(id, {
          title: pick(["x", "y"]),
          status: pick(["draft", "published"]),
          author: pick(["ann", "bob", "cid"]),
          pay: Math.floor(random() * 4),
        });
      };
      /** A client has what it creates in its copies until the server has decided, and what it changes where it was. */
      const writeOwn = async (copy: Copy) => {
        const id = pick(["a", "b", "c", "d"]);
        const isNew = (await admin.get(`/posts/${id}`)).status === 404;
        await write(id);
        const { status, body } = await copy.client.get(`/posts/${id}`);
        if (status === 200 && (isNew || copy.resources.has(id)))
          copy.resources.set(id, JSON.parse(body));
      };
      for (let round = 0; round < runs(15, 600); round++) {
        const copy = pick(copies);
        const limit = pick([1, 2, 100]);
        await copy.follow(limit, async () => void (random() < 0.3 && (await write())));
        for (let writes = Math.floor(random() * 4); writes > 0; writes--) await write();
        if (random() < 0.6) await writeOwn(copy);
        await copy.follow(limit);
        await copy.assertSame(`round ${round}`);
      }
    });

    for (const other of ["create", "update", "delete"])
      it(`report what owners lose, where only ${other} has grants`, async () => {
        const grants = [{ name: "some", to: "token" }];
        const [copy] = await begin({ access: { read: "owner", [other]: grants } });
        for (const id of ["a", "b", "c"]) {
          await put(id, { title: "A" });
          await done(admin.patch(`/posts/${id}`, { _owner: "ann" }));
        }
        assert.deepEqual(await copy.follow(), ["a", "b", "c"]);
        await done(admin.patch("/posts/a", { _owner: "bob" }));
        await done(admin.remove("/posts/b"));
        await put("c", { title: "B" });
        assert.deepEqual(await copy.follow(), ["-a", "-b", "c"]);
      });

    it("are 410 with other filters", async () => {
      await begin();
      await put("f", { title: "F", author: "ann", status: "draft" });
      const copy = new Copy(ann, "/posts?title=F&");
      assert.deepEqual(await copy.follow(), ["f"]);
      assert.deepEqual(await copy.follow(), []);
      for (const path of ["/posts?", "/posts?title=G&", "/posts?title=F&status=draft&"]) {
        const answer = await ann.get(`${path}since=${copy.next}`);
        assert.match(assertProblem(answer, "gone").detail ?? "", /other filters/, path);
      }
      const whole = new Copy(ann, "/posts?");
      await whole.follow();
      assert.equal((await ann.get(`/posts?title=A&since=${whole.next}`)).status, 200);
    });

    it("are 400 where it depends on the time who sees what", async () => {
      const until = { name: "due", to: "everyone", where: { due: { lt: "$now" } } };
      const due = { due: { type: "string", format: "date-time" }, author: { type: "string" } };
      await begin({
        schema: { type: "object", properties: due },
        access: { read: [until, { name: "mine", to: "token", where: { author: "$me" } }] },
      });
      const problem = assertProblem(await ann.get("/posts?since=0"), "invalid-parameter");
      assert.equal(problem.errors?.[0]?.parameter, "since");
      assert.match(problem.errors?.[0]?.detail ?? "", /depends on the time/);
      assert.equal((await admin.get("/posts?since=0")).status, 200);
    });

    it("keep copies of several callers equal to their lists, whatever happens", async () => {
      const random = randomNumbers(newSeed(`feeds through rules, on ${store}`, 1));
      const below = (count: number) => Math.floor(random() * count);
      const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;
      const copies = await begin();
      let count = 0;
      const write = async () => {
        const id = pick(["a", "b", "c", "d", "e", "f"]);
        if (random() < 0.2) return void (await admin.remove(`/posts/${id}`));
        await put(id, {
          title: pick(["x", "y"]),
          status: pick(["draft", "published"]),
          author: pick(["ann", "bob", "cid"]),
          // Who sees all fields sees every write, also of the same millisecond.
          pay: ++count,
          ...(random() < 0.3 && { project: pick(["p", "q"]) }),
          ...(random() < 0.3 && { team: pick(["red", "blue"]) }),
        });
      };
      /** Changes what the rules depend on. */
      const shift = async () => {
        const [user, team, lead] = [
          pick(["ann", "bob"]),
          pick(["red", "blue"]),
          pick(["ann", "bob"]),
        ];
        if (random() < 0.3) await done(admin.put("/projects/p", { lead }));
        else if (random() < 0.5) await admin.remove(`/memberships/${user}-${team}`);
        else await done(admin.put(`/memberships/${user}-${team}`, { user, team }));
      };
      for (let round = 0; round < runs(6, 400); round++) {
        for (let writes = below(6); writes > 0; writes--) await write();
        if (random() < 0.15) await shift();
        for (const copy of copies) {
          if (random() < 0.3) continue;
          if (!(await copy.isValid())) copy.restart();
          const isAlone = random() < 0.5;
          const had = new Map(copy.resources);
          const limit = 1 + below(3);
          const seen = isAlone
            ? await copy.follow()
            : await copy.follow(limit, () => (random() < 0.5 ? write() : Promise.resolve()));
          await copy.assertSame(`round ${round}`);
          if (!isAlone) continue;
          for (const name of seen)
            if (name.startsWith("-")) assert.ok(had.has(name.slice(1)), `round ${round}: ${name}`);
            else assert.notDeepEqual(had.get(name), copy.resources.get(name), `${round}: ${name}`);
        }
      }
    });

    it("go on after the server was killed", async () => {
      const folder = await mkdtemp(join(tmpdir(), "restante-"));
      const server = store === "postgres" ? await PostgresServer.shared() : undefined;
      const url = await server?.preparedDatabase();
      const secret = newSecret();
      const open = async () => {
        const args = ["--data", join(folder, "data"), ...(url ? ["--store", url] : [])];
        const environment = { RESTANTE_ADMIN_TOKEN: secret };
        const process = await start(args, { cwd: folder, environment });
        const request: Requester["request"] = (path, { token = secret, ...init } = {}) => {
          const headers = new Headers(init.headers);
          if (token !== null) headers.set("authorization", `Bearer ${token}`);
          return fetch(process.url + path, { ...init, headers });
        };
        const kill = async () => {
          process.signal("SIGKILL");
          await process.ended;
        };
        return { request, kill };
      };
      let running = await open();
      try {
        const requester: Requester = { request: (path, init) => running.request(path, init) };
        const root = new Client(requester);
        await done(root.put("/-/collections/memberships", memberships));
        await done(root.put("/-/access", { sets }));
        await done(root.put("/-/collections/projects", projects));
        await done(root.put("/-/collections/posts", posts));
        const copy = new Copy(await tokenOf(requester, "ann"));
        for (const id of ["a", "b", "c"]) await done(root.put(`/posts/${id}`, { author: "ann" }));
        await copy.follow();
        await done(root.put("/posts/a", { author: "bob" }));
        await done(root.remove("/posts/b"));
        await running.kill();
        running = await open();
        await done(root.put("/posts/d", { author: "ann" }));
        assert.deepEqual(await copy.follow(1), ["-a", "-b", "d"]);
        await copy.assertSame();
      } finally {
        await running.kill();
        await server?.close();
        await rm(folder, { recursive: true, force: true });
      }
    });
  });
}
