// Writes to collections with rules: which grant allows them, what is set, what may change, and what stays.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { assertProblem } from "./expect.ts";

type Fields = Readonly<Record<string, unknown>>;

const text = { type: "string" };
const schema = {
  type: "object",
  properties: {
    title: { type: "string", maxLength: 20 },
    ...{ body: text, author: text, editor: text, team: text, tenant: text },
    status: { type: "string", default: "new" },
    salary: { type: "integer", minimum: 0 },
    pin: { type: "string", writeOnly: true },
    made: { type: "string", readOnly: true },
    address: { type: "object", properties: { city: text, zip: text } },
    log: { type: "object", properties: { by: text } },
  },
};

const access = {
  read: [
    {
      ...{ name: "published", to: "everyone", where: { status: "published" } },
      fields: ["title", "body", "author", "status", "address.city"],
    },
    { name: "mine", to: "token", where: { author: "$me" } },
  ],
  create: [
    {
      ...{ name: "author", to: "token", fields: ["title", "body", "salary", "address"] },
      set: { author: "$me", status: "draft", made: "by rule" },
      check: { $or: [{ salary: { exists: false } }, { salary: { lt: 100 } }] },
    },
  ],
  update: [
    {
      ...{ name: "own draft", to: "token", where: { author: "$me", status: "draft" } },
      fields: ["title", "body", "status", "salary", "address", "pin"],
      check: { status: { in: ["draft", "submitted"] } },
    },
    {
      ...{ name: "correct", to: "token", where: { status: "published" } },
      fields: ["body", "address.city"],
      set: { editor: "$me" },
    },
  ],
  delete: [{ name: "own draft", to: "token", where: { author: "$me", status: "draft" } }],
};

for (const store of storesHere("sqlite", ["sqlite", "postgres"])) {
  describe(`writes by rules, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    let ann: Client;
    let bob: Client;
    const anonymous = () => new Client(app, null);
    const clientOf = async (subject: string, ...scopes: string[]) => {
      const made = await admin.post("/-/tokens", { name: `${subject} ${scopes}`, subject, scopes });
      assert.equal(made.status, 201, made.body);
      return new Client(app, JSON.parse(made.body).token);
    };
    const stored = (path: string) => admin.json<Fields>(path);
    const seed = async (path: string, fields: Fields) => {
      const { status, body } = await admin.put(path, fields);
      assert.ok(status < 300, body);
    };
    const define = async (name: string, definition: object) => {
      const { status, body } = await admin.put(`/-/collections/${name}`, definition);
      assert.ok(status < 300, body);
    };

    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      await define("posts", { schema, access });
      ann = await clientOf("ann", "posts:*", "notes:*", "projects:*", "tasks:*");
      bob = await clientOf("bob", "posts:*", "notes:*", "projects:*", "tasks:*");
    });
    after(() => app.stop());

    describe("POST", () => {
      it("gets what the grant sets, also in read-only fields", async () => {
        const { status, body } = await ann.post("/posts", { title: "a", salary: 7 });
        assert.equal(status, 201, body);
        const { author, status: state, made, salary } = JSON.parse(body);
        assert.deepEqual([author, state, made, salary], ["ann", "draft", "by rule", 7]);
      });

      it("cannot override what is set, and may send the same", async () => {
        const problem = await admin.rejects("posts", "forbidden", () =>
          ann.post("/posts", { title: "a", author: "bob", status: "published" }),
        );
        assert.deepEqual(pointersOf(problem), ["/author", "/status"]);
        assert.equal((await ann.post("/posts", { author: "ann", status: "draft" })).status, 201);
      });

      it("may set the fields of the grant only", async () => {
        const problem = await admin.rejects("posts", "forbidden", () =>
          ann.post("/posts", { title: "a", team: "x", pin: "1", address: { city: "Rome" } }),
        );
        assert.deepEqual(pointersOf(problem), ["/team", "/pin"]);
        assert.doesNotMatch(JSON.stringify(problem), /own draft|"author"/);
      });

      it("must pass the check, and be valid", async () => {
        await admin.rejects("posts", "forbidden", () => ann.post("/posts", { salary: 100 }));
        const problem = await admin.rejects("posts", "invalid-body", () =>
          ann.post("/posts", { salary: -1 }),
        );
        assert.deepEqual(pointersOf(problem), ["/salary"]);
      });

      it("is 401 and 403 for callers to whom no grant can apply", async () => {
        await admin.rejects("posts", "unauthenticated", () => anonymous().post("/posts", {}));
        const reader = await clientOf("ann", "posts:read");
        await admin.rejects("posts", "insufficient-scope", () => reader.post("/posts", {}));
      });

      it("lets admins do all, and sets nothing", async () => {
        const { status, body } = await admin.post("/posts", { team: "x", salary: 1000 });
        assert.equal(status, 201, body);
        assert.deepEqual([JSON.parse(body).author, JSON.parse(body).status], [undefined, "new"]);
      });

      it("returns no body to who cannot read what it created", async () => {
        const create = [{ name: "all", to: "everyone", set: { by: "someone" } }];
        await define("inbox", { access: { create, read: [{ name: "mine", to: "owner" }] } });
        const answer = await anonymous().post("/inbox", { a: 1 });
        assert.deepEqual([answer.status, answer.body], [201, ""]);
        // A validator would tell whether others have changed it.
        const validators = ["etag", "last-modified"].map((name) => answer.headers.get(name));
        assert.deepEqual(validators, [null, null]);
        const post = { method: "POST", path: "/inbox", body: { a: 2 } };
        const writer = await clientOf("ann", "inbox:create");
        const [result] = JSON.parse((await writer.batch([post])).body).results;
        assert.deepEqual(Object.keys(result), ["status", "location"]);
        const { a, by } = await stored(answer.headers.get("location") ?? "");
        assert.deepEqual([a, by], [1, "someone"]);
      });
    });

    describe("PATCH", () => {
      before(async () => {
        await seed("/posts/draft", { title: "t", author: "ann", status: "draft", salary: 5 });
        await seed("/posts/public", {
          ...{ title: "t", author: "ann", status: "published", salary: 5, pin: "1234" },
          ...{ body: "b", address: { city: "Rome", zip: "00100" } },
        });
      });

      it("is 404 for what the caller does not see, as for a missing one", async () => {
        const without = ({ instance, requestId, ...rest }: Fields) => rest;
        for (const patch of [{ title: "x" }, { status: "published" }, {}]) {
          const hidden = await admin.rejects("posts", "not-found", () =>
            bob.patch("/posts/draft", patch),
          );
          const missing = assertProblem(await bob.patch("/posts/nothing", patch), "not-found");
          assert.deepEqual(without({ ...hidden }), without({ ...missing }));
        }
      });

      it("is 403 for what the caller sees and may not change", async () => {
        const problem = await admin.rejects("posts", "forbidden", () =>
          bob.patch("/posts/public", { title: "x" }),
        );
        assert.deepEqual(pointersOf(problem), ["/title"]);
        await admin.rejects("posts", "unauthenticated", () =>
          anonymous().patch("/posts/public", { title: "x" }),
        );
      });

      it("is 403 before a precondition counts", async () => {
        await define("fixed", {
          access: {
            read: "public",
            update: [{ name: "x", to: "everyone", where: { open: true } }],
          },
        });
        await seed("/fixed/one", { open: false });
        const stale = { "if-match": '"zz"' };
        await admin.rejects("fixed", "forbidden", () => bob.patch("/fixed/one", {}, stale));
        await seed("/fixed/two", { open: true });
        await admin.rejects("fixed", "precondition-failed", () =>
          bob.patch("/fixed/two", {}, stale),
        );
      });

      it("may change the fields of one grant as a whole", async () => {
        const problem = await admin.rejects("posts", "forbidden", () =>
          ann.patch("/posts/draft", { title: "x", team: "y", author: "bob" }),
        );
        assert.deepEqual(pointersOf(problem), ["/author", "/team"]);
        assert.equal((await ann.patch("/posts/draft", { title: "x", author: "ann" })).status, 200);
      });

      it("checks the state after", async () => {
        await admin.rejects("posts", "forbidden", () =>
          ann.patch("/posts/draft", { status: "published" }),
        );
        await seed("/posts/step", { author: "ann", status: "draft" });
        assert.equal((await ann.patch("/posts/step", { status: "submitted" })).status, 200);
        // The state before does not allow more.
        await admin.rejects("posts", "forbidden", () =>
          ann.patch("/posts/step", { status: "draft" }),
        );
      });

      it("neither reads nor removes what the caller does not see", async () => {
        const { status, body } = await bob.patch("/posts/public", {
          ...{ body: "new", salary: null, pin: null },
          address: { city: "Pisa", zip: null },
        });
        assert.equal(status, 200, body);
        const { createdAt, id, ...shown } = JSON.parse(body);
        assert.deepEqual(shown, {
          ...{ title: "t", body: "new", author: "ann", status: "published" },
          address: { city: "Pisa" },
        });
        const { salary, address, editor } = await stored("/posts/public");
        assert.deepEqual([salary, address, editor], [5, { city: "Pisa", zip: "00100" }, "bob"]);
        for (const [path, value] of [
          ["/salary", 5],
          ["/address/zip", "00100"],
          ["/editor", "bob"],
          ["/updatedAt", (await stored("/posts/public")).updatedAt],
        ]) {
          const tested = await bob.jsonPatch("/posts/public", [{ op: "test", path, value }]);
          assertProblem(tested, "conflict");
        }
      });

      it("cannot guess a value that the caller does not see", async () => {
        for (const salary of [5, 6]) {
          const problem = await admin.rejects("posts", "forbidden", () =>
            bob.patch("/posts/public", { salary }),
          );
          assert.deepEqual(pointersOf(problem), ["/salary"]);
        }
        for (const made of ["by rule", "x"]) {
          const sent = { body: "new", made };
          const problem = await admin.rejects("posts", "forbidden", () =>
            bob.patch("/posts/public", sent),
          );
          assert.deepEqual(pointersOf(problem), ["/made"]);
        }
      });

      it("does not tell about stored values that the caller does not see", async () => {
        await define("typed", { access: { read: "public" } });
        await seed("/typed/one", { title: "t", secret: "long long text", status: "published" });
        const secret = { type: "string", maxLength: 3 };
        const short = { ...schema, properties: { ...schema.properties, secret } };
        const own = { read: access.read.slice(0, 1), update: [{ name: "all", to: "token" }] };
        await define("typed", { schema: short, access: own });
        const writer = await clientOf("ann", "typed:*");
        const problem = await admin.rejects("typed", "invalid-body", () =>
          writer.patch("/typed/one", { title: "u" }),
        );
        assert.deepEqual(pointersOf(problem), [""]);
        assert.doesNotMatch(JSON.stringify(problem), /secret/);
      });
    });

    describe("operations", () => {
      const type = { "content-type": "application/vnd.restante.operations+json" };
      it("are decided on their result", async () => {
        await seed("/posts/count", { author: "ann", status: "draft", salary: 5, views: 1 });
        const by = (field: string, number: number) =>
          ann.patch("/posts/count", { increment: { [field]: number } }, type);
        const done = await by("salary", 2);
        assert.deepEqual([done.status, JSON.parse(done.body).salary], [200, 7], done.body);
        const problem = await admin.rejects("posts", "forbidden", () => by("views", 1));
        assert.deepEqual(pointersOf(problem), ["/views"]);
        await admin.rejects("posts", "conflict", () => by("salary", -50));
      });

      it("cannot name a field that the caller does not see", async () => {
        await seed("/posts/seen", { author: "ann", status: "published", salary: 5 });
        const problem = await admin.rejects("posts", "forbidden", () =>
          bob.patch("/posts/seen", { increment: { salary: 1 } }, type),
        );
        assert.deepEqual(pointersOf(problem), ["/increment/salary"]);
      });
    });

    describe("PUT", () => {
      it("takes back what was read, and changes what may change", async () => {
        await seed("/posts/put", { title: "t", author: "ann", status: "draft", team: "x" });
        const now = await ann.json<Fields>("/posts/put");
        const { status, body } = await ann.put("/posts/put", { ...now, title: "u" });
        assert.equal(status, 200, body);
        const { title, team, author } = await stored("/posts/put");
        assert.deepEqual([title, team, author], ["u", "x", "ann"]);
      });

      it("is 403 where a field is altered or left out that may not change", async () => {
        for (const sent of [
          { title: "u", status: "draft" },
          { team: "y", author: "bob" },
        ]) {
          const problem = await admin.rejects("posts", "forbidden", () =>
            ann.put("/posts/put", { status: "draft", ...sent }),
          );
          assert.deepEqual([...pointersOf(problem)].sort(), ["/author", "/team"]);
        }
      });

      it("keeps what the caller does not see", async () => {
        const before = {
          ...{ title: "t", author: "ann", status: "published", salary: 5, team: "x" },
          ...{ pin: "1", address: { city: "Rome", zip: "1" } },
        };
        await seed("/posts/kept", before);
        const { address, pin, ...rest } = { ...before, body: "new" };
        const sent = { title: "t", author: "ann", status: "published", body: "new" };
        const { status, body } = await bob.put("/posts/kept", sent);
        assert.equal(status, 200, body);
        assert.doesNotMatch(body, /salary|team|zip|updatedAt/);
        const { id, createdAt, updatedAt, editor, ...after } = await stored("/posts/kept");
        assert.deepEqual(after, {
          ...rest,
          address: { zip: "1" },
        });
      });

      it("creates by the grants of create", async () => {
        const { status, body } = await ann.put("/posts/chosen", { title: "t" });
        assert.deepEqual([status, JSON.parse(body).author], [201, "ann"], body);
        await admin.rejects("posts", "forbidden", () => ann.put("/posts/other", { team: "t" }));
      });

      it("to a taken id that the caller does not see is 409, and 412 with If-Match", async () => {
        await seed("/posts/hidden", { author: "ann", status: "draft" });
        await admin.rejects("posts", "conflict", () => bob.put("/posts/hidden", { title: "x" }));
        const match = { "if-match": "*" };
        const put = (id: string) => bob.put(`/posts/${id}`, { title: "x" }, match);
        const hidden = await admin.rejects("posts", "precondition-failed", () => put("hidden"));
        const missing = assertProblem(await put("missing"), "precondition-failed");
        assert.equal(hidden.detail, missing.detail);
        // What would be rejected for a new one is rejected alike.
        await admin.rejects("posts", "forbidden", () => bob.put("/posts/hidden", { team: "x" }));
        const updater = await clientOf("bob", "posts:update", "posts:read");
        for (const headers of [{}, match]) {
          const send = (id: string) => updater.put(`/posts/${id}`, { title: "x" }, headers);
          await admin.rejects("posts", "insufficient-scope", () => send("hidden"));
          await admin.rejects("posts", "insufficient-scope", () => send("missing"));
        }
      });
    });

    describe("DELETE", () => {
      it("is 404, 403 or 204 by what the caller sees and may do", async () => {
        await seed("/posts/mine", { author: "ann", status: "draft" });
        await seed("/posts/out", { author: "ann", status: "published" });
        await admin.rejects("posts", "not-found", () => bob.remove("/posts/mine"));
        await admin.rejects("posts", "forbidden", () => bob.remove("/posts/out"));
        await admin.rejects("posts", "forbidden", () => ann.remove("/posts/out"));
        assert.equal((await ann.remove("/posts/mine")).status, 204);
        await admin.rejects("posts", "not-found", () => ann.remove("/posts/mine"));
      });
    });

    describe("callers who read nothing", () => {
      it("change what their grant is for, and nothing else is there for them", async () => {
        const update = [
          { name: "open", to: "token", where: { open: true }, fields: ["a", "open"] },
        ];
        await define("blind", { access: { read: "token", update, delete: update.map(strip) } });
        const writer = await clientOf("w", "blind:update", "blind:delete", "blind:create");
        await seed("/blind/open", { open: true, a: 1, b: 2 });
        await seed("/blind/closed", { open: false, a: 1, b: 2 });
        const answer = await writer.patch("/blind/open", { a: 2 });
        assert.deepEqual([answer.status, answer.body], [204, ""]);
        await admin.rejects("blind", "not-found", () => writer.patch("/blind/closed", { a: 2 }));
        await admin.rejects("blind", "not-found", () => writer.remove("/blind/closed"));
        await admin.rejects("blind", "conflict", () => writer.put("/blind/closed", { a: 2 }));
        // What it cannot read and leaves out stays.
        assert.equal((await writer.put("/blind/open", { a: 3 })).status, 204);
        const { a, b, open } = await stored("/blind/open");
        assert.deepEqual([a, b, open], [3, 2, true]);
        await admin.rejects("blind", "forbidden", () => writer.put("/blind/open", { b: 2 }));
        assert.equal((await writer.remove("/blind/open")).status, 204);
      });
    });

    describe("a boundary", () => {
      before(async () => {
        await define("notes", {
          access: { read: "token", update: [{ name: "any", to: "token" }] },
          boundary: { tenant: "$me" },
        });
        await seed("/notes/a", { tenant: "ann", text: "a" });
      });

      it("is checked at creation, for grants and shorthands", async () => {
        assert.equal((await ann.post("/notes", { tenant: "ann" })).status, 201);
        await admin.rejects("notes", "forbidden", () => ann.post("/notes", { tenant: "bob" }));
        await admin.rejects("notes", "forbidden", () => ann.post("/notes", {}));
      });

      it("hides what is outside", async () => {
        await admin.rejects("notes", "not-found", () => bob.patch("/notes/a", { text: "b" }));
        await admin.rejects("notes", "not-found", () => bob.remove("/notes/a"));
        await admin.rejects("notes", "conflict", () => bob.put("/notes/a", { tenant: "bob" }));
      });

      it("fixes its fields after creation, also for who may change all", async () => {
        for (const tenant of ["bob", null]) {
          const problem = await admin.rejects("notes", "forbidden", () =>
            ann.patch("/notes/a", { tenant, text: "b" }),
          );
          assert.deepEqual(pointersOf(problem), ["/tenant"]);
        }
        assert.equal((await ann.put("/notes/a", { tenant: "ann", text: "c" })).status, 200);
        assert.equal((await admin.patch("/notes/a", { tenant: "bob" })).status, 200);
        await admin.rejects("notes", "not-found", () => ann.patch("/notes/a", { text: "d" }));
      });

      it("fixes a field in an object, whatever the object becomes", async () => {
        const any = { name: "any", to: "token", fields: ["place"] };
        const boundary = { "place.state": { ne: "closed" } };
        await define("notes", { access: { read: "token", update: [any] }, boundary });
        await seed("/notes/b", { place: { state: "open", n: 1 } });
        for (const place of ["none", null, [], { state: "ajar" }, { state: null }]) {
          const refuse = () => ann.patch("/notes/b", { place });
          await admin.rejects("notes", "forbidden", refuse);
        }
        assert.equal((await ann.patch("/notes/b", { place: { n: 2 } })).status, 200);
        const whole = { place: { ne: "none" } };
        await define("notes", { access: { read: "token", update: [any] }, boundary: whole });
        await admin.rejects("notes", "forbidden", () => ann.patch("/notes/b", { place: { n: 3 } }));
      });
    });

    describe("fields in objects", () => {
      const made = { type: "object", required: ["by", "at"], properties: { by: text, at: text } };
      before(() =>
        define("reports", {
          schema: {
            ...{ type: "object", required: ["title", "made"], additionalProperties: false },
            properties: { title: text, made: { $ref: "#/$defs/made" } },
            $defs: { made },
          },
          access: {
            read: [{ name: "some", to: "token", fields: ["title", "made.at"] }],
            create: [
              {
                ...{ name: "own", to: "token", fields: ["title", "made.at"] },
                set: { "made.by": "$me" },
              },
            ],
            update: [{ name: "own", to: "token", where: { "made.by": "$me" }, fields: ["title"] }],
          },
        }),
      );

      it("are set inside of what is sent, and count as required", async () => {
        const writer = await clientOf("ann", "reports:*");
        const sent = { title: "t", made: { at: "noon" } };
        const { status, body } = await writer.put("/reports/one", sent);
        assert.equal(status, 201, body);
        assert.deepEqual((await stored("/reports/one")).made, { at: "noon", by: "ann" });
        for (const [other, kind, pointer] of [
          [{ at: "noon", by: "bob" }, "forbidden", "/made/by"],
          ["noon", "forbidden", "/made/by"],
          [undefined, "invalid-body", "/made/at"],
        ] as const) {
          const problem = await admin.rejects("reports", kind, () =>
            writer.put("/reports/two", { title: "t", made: other }),
          );
          assert.ok(pointersOf(problem).includes(pointer), JSON.stringify(problem));
        }
      });

      it("stay where the caller does not see them, also those that are required", async () => {
        const writer = await clientOf("ann", "reports:*");
        const { status, body } = await writer.put("/reports/one", {
          ...{ title: "u", made: { at: "noon" } },
        });
        assert.equal(status, 200, body);
        assert.deepEqual((await stored("/reports/one")).made, { at: "noon", by: "ann" });
        const left = await admin.rejects("reports", "forbidden", () =>
          writer.put("/reports/one", { title: "v" }),
        );
        assert.deepEqual(pointersOf(left), ["/made"]);
      });
    });

    it("answer a form that fills in the honeypot as one that is stored", async () => {
      await define("guests", {
        ...{ honeypot: "website", schema: { properties: { name: text, state: text, by: text } } },
        access: {
          read: [
            { name: "new", to: "everyone", where: { state: "new" }, fields: ["name", "state"] },
          ],
          create: [
            { name: "any", to: "everyone", fields: ["name"], set: { state: "new", by: "form" } },
          ],
        },
      });
      const form = { "content-type": "application/x-www-form-urlencoded" };
      const [real, trapped] = await Promise.all(
        ["name=x&website=", "name=x&website=spam"].map((sent) =>
          anonymous().post("/guests", sent, form),
        ),
      );
      assert.ok(real !== undefined && trapped !== undefined);
      const shown = ({ body }: typeof real) => ({ ...JSON.parse(body), id: "", createdAt: "" });
      assert.deepEqual([trapped.status, shown(trapped)], [201, shown(real)]);
      assert.deepEqual([...trapped.headers.keys()], [...real.headers.keys()]);
      assert.equal(await app.total("guests"), 1);
      const refused = await anonymous().post("/guests", "state=old&website=spam", form);
      assertProblem(refused, "forbidden");
    });

    describe("rules across a reference", () => {
      before(async () => {
        await define("projects", {});
        await define("tasks", {
          references: { project: { collection: "projects" } },
          access: {
            read: [{ name: "own project", to: "token", where: { "project.lead": "$me" } }],
            create: [{ name: "own project", to: "token", check: { "project.lead": "$me" } }],
            update: [
              {
                ...{ name: "open", to: "token", where: { "project.open": true } },
                check: { "project.lead": "$me" },
              },
            ],
          },
        });
        await seed("/projects/p1", { lead: "ann", open: true });
        await seed("/projects/p2", { lead: "bob", open: true });
        await seed("/projects/p3", { lead: "ann", open: false });
      });

      it("are decided on what is referred to, before and after", async () => {
        const made = await ann.post("/tasks", { project: "p1" });
        assert.equal(made.status, 201, made.body);
        assert.equal(JSON.parse(made.body).project, "p1");
        await admin.rejects("tasks", "forbidden", () => ann.post("/tasks", { project: "p2" }));
        const path = made.headers.get("location") ?? "";
        await admin.rejects("tasks", "not-found", () => bob.patch(path, { n: 1 }));
        await admin.rejects("tasks", "forbidden", () => ann.patch(path, { project: "p2" }));
        const moved = await ann.patch(path, { project: "p3" });
        assert.deepEqual([moved.status, JSON.parse(moved.body).project], [200, "p3"]);
        await admin.rejects("tasks", "forbidden", () => ann.patch(path, { n: 1 }));
      });

      it("let a caller refer only to what it sees, and keep what is referred to", async () => {
        const own = { read: [{ name: "mine", to: "token", where: { by: "$me" } }] };
        await define("files", { access: own });
        const file = { collection: "files", onDelete: "restrict" };
        const seen = [{ name: "out", to: "token", where: { out: true }, fields: ["title", "out"] }];
        await define("letters", {
          references: { file },
          access: { read: seen, create: "token", update: [{ name: "any", to: "token" }] },
        });
        const writer = await clientOf("ann", "files:*", "letters:*");
        await seed("/files/anns", { by: "ann" });
        await seed("/files/bobs", { by: "bob" });
        assert.equal((await writer.post("/letters", { file: "anns" })).status, 201);
        for (const other of ["bobs", "missing", "\u0000"]) {
          const problem = await admin.rejects("letters", "invalid-body", () =>
            writer.post("/letters", { file: other }),
          );
          assert.deepEqual(pointersOf(problem), ["/file"]);
        }
        await seed("/letters/one", { out: true, file: "bobs" });
        const patched = await writer.patch("/letters/one", { title: "t" });
        assert.equal(patched.status, 200, patched.body);
        assert.equal((await stored("/letters/one")).file, "bobs");
        // A guess of what it does not see is answered like any other.
        const [right, wrong] = await Promise.all(
          ["bobs", "missing"].map(async (guess) =>
            admin.rejects("letters", "invalid-body", () =>
              writer.patch("/letters/one", { file: guess }),
            ),
          ),
        );
        assert.deepEqual(
          JSON.stringify(right?.errors).replaceAll("bobs", "missing"),
          JSON.stringify(wrong?.errors),
        );
        // It names only those of the referring resources that the caller sees.
        const { detail } = await admin.rejects("files", "conflict", () =>
          writer.remove("/files/anns"),
        );
        assert.doesNotMatch(detail, /letters/);
        await seed("/letters/two", { out: true, file: "anns" });
        const named = assertProblem(await writer.remove("/files/anns"), "conflict");
        assert.match(named.detail, /: \/letters\/two\. /);
      });
    });
  });
}

const strip = ({ fields, ...grant }: { readonly fields: readonly string[] }) => grant;
