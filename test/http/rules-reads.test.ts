// Reads through rules: each caller sees the resources and fields that grants show it, and nothing else.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

const access = {
  read: [
    {
      name: "published",
      to: "everyone",
      where: { status: "published" },
      fields: ["title", "body", "author", "status", "address.city"],
    },
    { name: "mine", to: "token", where: { author: "$me" } },
    { name: "watched", to: "token", where: { watcher: "$me" }, fields: ["title", "updatedAt"] },
  ],
  create: "token",
  update: "token",
  delete: "token",
};

const properties = {
  title: { type: "string" },
  body: { type: "string" },
  author: { type: "string" },
  watcher: { type: "string" },
  status: { type: "string" },
  salary: { type: "integer" },
  address: { type: "object", properties: { city: { type: "string" }, code: { type: "string" } } },
};

const definition = {
  schema: { type: "object", properties },
  indexed: ["title", "salary"],
  searchable: ["title"],
  access,
};

interface Listed {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly total: number;
  readonly next?: string | null;
}

const jsonOf = ({ status, body }: Answer): Readonly<Record<string, unknown>> => {
  assert.equal(status, 200, body);
  return JSON.parse(body);
};

const listOf = (answer: Answer): Listed => jsonOf(answer) as unknown as Listed;

const idsIn = (answer: Answer) => listOf(answer).data.map(({ id }) => id);

/** The same response, apart from what names the request. */
const withoutIds = ({ status, headers, body }: Answer) => {
  const fields = [...headers].filter(
    ([name]) => !["x-request-id", "date", "content-length"].includes(name),
  );
  const problem = JSON.parse(body);
  return { status, fields, problem: { ...problem, instance: "", requestId: "" } };
};

for (const store of storesHere("node", ["sqlite", "postgres"])) {
  describe(`reads through rules, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    let ann: Client;
    let bob: Client;
    let anyone: Client;

    const tokenOf = async (subject: string, ...scopes: string[]): Promise<Client> => {
      const made = await admin.post("/-/tokens", { name: subject, subject, scopes });
      assert.equal(made.status, 201, made.body);
      return new Client(app, JSON.parse(made.body).token);
    };

    const put = async (path: string, fields: object): Promise<void> => {
      const { status, body } = await admin.put(path, fields);
      assert.ok(status === 200 || status === 201, body);
    };

    const address = { city: "Bern", code: "3000" };
    const posts = {
      a1: { title: "alpha", body: "draft", author: "ann", status: "draft", salary: 7 },
      b1: { title: "beta", body: "draft", author: "bob", status: "draft", salary: 8 },
      p1: { title: "gamma", body: "x", author: "ann", status: "published", salary: 9, address },
      w1: { title: "delta", body: "y", author: "eve", watcher: "bob", status: "draft", salary: 1 },
    };

    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      anyone = new Client(app, null);
      ann = await tokenOf("ann", "*:*");
      bob = await tokenOf("bob", "*:*");
      const defined = await admin.put("/-/collections/posts", definition);
      assert.equal(defined.status, 201, defined.body);
      for (const [id, fields] of Object.entries(posts)) await put(`/posts/${id}`, fields);
    });
    after(() => app.stop());

    it("shows one resource by the grants that hold", async () => {
      const whole = jsonOf(await ann.get("/posts/p1"));
      assert.equal(whole.salary, 9);
      assert.deepEqual(whole.address, address);
      assert.ok(typeof whole.updatedAt === "string");
      for (const caller of [anyone, bob]) {
        const { createdAt, ...shown } = jsonOf(await caller.get("/posts/p1"));
        assert.equal(typeof createdAt, "string");
        const { salary: _, address: __, ...fields } = posts.p1;
        assert.deepEqual(shown, { id: "p1", ...fields, address: { city: "Bern" } });
      }
      const watched = jsonOf(await bob.get("/posts/w1"));
      assert.deepEqual(Object.keys(watched), ["id", "title", "createdAt", "updatedAt"]);
      assert.deepEqual(jsonOf(await admin.get("/posts/a1")).salary, 7);
    });

    it("answers for a hidden resource as for a missing one", async () => {
      for (const [caller, id] of [
        [anyone, "a1"],
        [bob, "a1"],
        [ann, "w1"],
      ] as const)
        for (const path of ["", "?fields=title", "/file"]) {
          const hidden = await caller.get(`/posts/${id}${path}`);
          const missing = await caller.get(`/posts/n1${path}`);
          assertProblem(hidden, "not-found");
          assert.deepEqual(withoutIds(hidden), withoutIds(missing));
        }
    });

    it("lists what the caller sees, with its total", async () => {
      for (const [caller, ids] of [
        [anyone, ["p1"]],
        [ann, ["a1", "p1"]],
        [bob, ["b1", "p1", "w1"]],
        [admin, ["a1", "b1", "p1", "w1"]],
      ] as const)
        for (const query of ["", "?sort=title", "?limit=1000", "?total=none", "?cursor="]) {
          const answer = await caller.get(`/posts${query}`);
          assert.deepEqual(idsIn(answer).toSorted(), ids, query);
          if (!query.includes("=none")) assert.equal(listOf(answer).total, ids.length);
        }
      const shown = listOf(await bob.get("/posts")).data.map((each) => Object.keys(each).join());
      assert.deepEqual(shown, [
        "id,title,body,author,status,salary,createdAt,updatedAt",
        "id,title,body,author,status,address,createdAt",
        "id,title,createdAt,updatedAt",
      ]);
    });
  });
}
