// References between resources: what is named exists, and deletions follow the rule of each reference.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSeed, randomNumbers, runs, within } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently, pointersOf } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

type Fields = Readonly<Record<string, unknown>>;

const text = { type: "string" };
const to = (collection: string, onDelete?: string) => ({
  collection,
  ...(onDelete && { onDelete }),
});

for (const store of storesHere("sqlite", ["sqlite", "postgres"])) {
  describe(`references on ${store}`, () => {
    let app: TestApp;
    let client: Client;
    before(async () => {
      app = await startApp({ ...(store === "postgres" && { store }), maxCascade: 20 });
      client = new Client(app);
    });
    after(() => app.stop());

    const define = async (name: string, definition: unknown) => {
      const answer = await client.put(`/-/collections/${name}`, definition);
      assert.ok(answer.status < 300, answer.body);
      return JSON.parse(answer.body) as { violations?: unknown };
    };
    const ids = async (collection: string): Promise<readonly string[]> => {
      const { data } = await client.json<{ data: { id: string }[] }>(`/${collection}?limit=1000`);
      return data.map(({ id }) => id).sort();
    };
    const ok = ({ status, body }: Answer) => assert.ok(status < 300, `${status} ${body}`);

    it("must be to resources that exist and that the caller may read", async () => {
      await define("people", { access: { read: "owner" } });
      await define("pets", { references: { owner: to("people"), "visits[].vet": to("people") } });
      const [one, two] = [
        await app.token("people:*", "pets:*"),
        await app.token("people:*", "pets:*"),
      ];
      const [ada, bob] = [new Client(app, one), new Client(app, two)];
      const { id } = JSON.parse((await ada.post("/people", {})).body) as { id: string };
      ok(await ada.post("/pets", { owner: id, visits: [{ vet: id }, {}] }));
      const wrong = [
        [{ owner: "nobody" }, ["/owner"]],
        [{ owner: 7 }, ["/owner"]],
        [
          { owner: id, visits: [{}, { vet: "nobody" }, { vet: ["x"] }] },
          ["/visits/1/vet", "/visits/2/vet"],
        ],
      ] as const;
      for (const [fields, pointers] of wrong) {
        const problem = await client.rejects("pets", "invalid-body", () =>
          ada.post("/pets", fields),
        );
        assert.deepEqual(pointersOf(problem), pointers);
      }
      const hidden = assertProblem(await bob.post("/pets", { owner: id }), "invalid-body");
      const missing = assertProblem(await bob.post("/pets", { owner: "nobody" }), "invalid-body");
      assert.deepEqual(hidden.errors, missing.errors);
      const writer = new Client(app, await app.token("pets:*"));
      assertProblem(await writer.post("/pets", { owner: id }), "invalid-body");
      ok(await client.post("/pets", { owner: id }));
      ok(await client.put("/pets/tom", { owner: null }));
      const patched = await client.patch("/pets/tom", { owner: "nobody" });
      assert.deepEqual(pointersOf(assertProblem(patched, "invalid-body")), ["/owner"]);
    });

    it("stay when a caller changes other fields, whether it may read what they name or not", async () => {
      await define("authors", {});
      await define("texts", { references: { author: to("authors"), "readers[]": to("authors") } });
      for (const id of ["ada", "bob"]) ok(await client.put(`/authors/${id}`, {}));
      const stored = { author: "ada", readers: ["bob"] };
      ok(await client.put("/texts/1", stored));
      const editor = new Client(app, await app.token("texts:*"));
      ok(await editor.patch("/texts/1", { title: "x" }));
      ok(await editor.put("/texts/1", { ...stored, title: "y" }));
      ok(await editor.batch([{ method: "PATCH", path: "/texts/1", body: { title: "z" } }]));
      ok(await editor.patch("/texts/1", { author: "bob", readers: ["ada", "bob"] }));
      for (const fields of [{ author: "eve" }, { readers: ["bob", "eve"] }])
        assertProblem(await editor.patch("/texts/1", fields), "invalid-body");
      ok(await client.put("/authors/eve", {}));
      assertProblem(await editor.patch("/texts/1", { author: "eve" }), "invalid-body");
      assertProblem(await editor.put("/texts/2", { author: "ada" }), "invalid-body");
      // A caller that cannot read the resource does not learn what it refers to.
      const writer = new Client(app, await app.token("texts:update"));
      assertProblem(await writer.patch("/texts/1", { author: "bob" }), "invalid-body");
    });

    it("are checked on every way in", async () => {
      await define("towns", {});
      await define("streets", { references: { town: to("towns") } });
      ok(await client.put("/towns/rome", {}));
      const ndjson = await client.post("/streets", '{"town":"rome"}\n{"town":"oslo"}\n', {
        "content-type": "application/x-ndjson",
      });
      const lines = ndjson.body
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).status);
      assert.deepEqual(lines.slice(0, 2), [201, 400]);
      const form = await client.post("/streets", "town=oslo", {
        "content-type": "application/x-www-form-urlencoded",
      });
      assertProblem(form, "invalid-body");
      const put = (path: string, body: Fields) => ({ method: "PUT", path, body });
      const remove = (path: string) => ({ method: "DELETE", path });
      ok(await client.batch([put("/streets/a", { town: "oslo" }), put("/towns/oslo", {})]));
      ok(await client.batch([remove("/towns/oslo"), remove("/streets/a")]));
      const both = [put("/streets/b", { town: "rome" }), remove("/towns/rome")];
      const refused = assertProblem(await client.batch(both), "invalid-body");
      assert.match(JSON.stringify(refused.errors), /town/);
    });

    it("restrict, cascade and unset what refers to a deleted resource", async () => {
      await define("authors", {});
      await define("books", { references: { author: to("authors", "cascade") } });
      await define("reviews", {
        references: { book: to("books", "cascade"), by: to("authors", "unset") },
      });
      await define("racks", {
        references: { "books[]": to("books", "unset"), first: to("books") },
      });
      ok(await client.put("/authors/a", {}));
      ok(await client.put("/authors/b", {}));
      for (const [book, author] of [
        ["x", "a"],
        ["y", "a"],
        ["z", "b"],
      ])
        ok(await client.put(`/books/${book}`, { author }));
      ok(await client.put("/reviews/1", { book: "x", by: "b" }));
      ok(await client.put("/reviews/2", { book: "z", by: "a", stars: 1.0 }));
      ok(await client.put("/racks/s", { books: ["x", "z", "x"], first: "x" }));
      const problem = await client.rejects("authors", "conflict", () =>
        client.remove("/authors/a"),
      );
      assert.match(problem.detail, /\/racks\/s/);
      const stranger = new Client(app, await app.token("authors:*"));
      const unnamed = assertProblem(await stranger.remove("/authors/a"), "conflict");
      assert.doesNotMatch(unnamed.detail, /racks/);
      ok(await client.patch("/racks/s", { first: "z" }));
      ok(await stranger.remove("/authors/a"));
      assert.deepEqual(await ids("books"), ["z"]);
      assert.deepEqual(await ids("reviews"), ["2"]);
      const review = await client.json<Fields>("/reviews/2");
      assert.deepEqual([review.by, review.stars, review.book], [undefined, 1, "z"]);
      assert.deepEqual((await client.json<Fields>("/racks/s")).books, ["z"]);
      const { data } = await client.json<{ data: { id: string }[] }>("/books?author=b");
      assert.deepEqual(
        data.map(({ id }) => id),
        ["z"],
      );
    });

    it("follow deletions up to a limit, and through cycles", async () => {
      await define("nodes", { references: { parent: to("nodes", "cascade") } });
      ok(
        await client.batch([
          { method: "PUT", path: "/nodes/x", body: { parent: "y" } },
          { method: "PUT", path: "/nodes/y", body: { parent: "x" } },
        ]),
      );
      ok(await client.remove("/nodes/x"));
      assert.deepEqual(await ids("nodes"), []);
      ok(await client.put("/nodes/root", {}));
      await concurrently(21, async (n) => ok(await client.put(`/nodes/n${n}`, { parent: "root" })));
      const problem = await client.rejects("nodes", "conflict", () => client.remove("/nodes/root"));
      assert.match(problem.detail, /21 other resources.*at most 20/);
      ok(await client.remove("/nodes/n0"));
      ok(await client.remove("/nodes/root"));
      assert.deepEqual(await ids("nodes"), []);
    });

    it("change up to as many as they may delete, both together", async () => {
      await define("crews", {});
      await define("seats", { references: { crew: to("crews", "unset") } });
      await define("bags", { references: { crew: to("crews", "cascade") } });
      ok(await client.put("/crews/c", {}));
      await concurrently(20, async (n) => ok(await client.put(`/seats/s${n}`, { crew: "c" })));
      ok(await client.put("/bags/b", { crew: "c" }));
      const problem = await client.rejects("seats", "conflict", () => client.remove("/crews/c"));
      assert.match(problem.detail, /21 other resources.*at most 20/);
      ok(await client.remove("/bags/b"));
      ok(await client.put("/seats/s20", { crew: "c" }));
      await client.rejects("seats", "conflict", () => client.remove("/crews/c"));
      ok(await client.remove("/seats/s20"));
      ok(await client.remove("/crews/c"));
      const { total } = await client.json<{ total: number }>("/seats?crew[exists]=false");
      assert.equal(total, 20);
    });

    it("are checked in the definition", async () => {
      await define("hats", {});
      const rejected = [
        [{ references: { hat: to("nothing") } }, "/references/hat/collection"],
        [{ references: { "a..b": to("hats") } }, "/references/a..b"],
        [{ references: { id: to("hats") } }, "/references/id"],
        [
          { references: { n: to("hats") }, schema: { properties: { n: { type: "number" } } } },
          "/references/n",
        ],
        [
          {
            references: { n: to("hats", "unset") },
            schema: { properties: { n: text }, required: ["n"] },
          },
          "/references/n/onDelete",
        ],
        [{ references: { n: to("hats", "never") } }, "/references/n/onDelete"],
        [
          { references: { n: to("hats") }, schema: { properties: { n: { type: "array" } } } },
          "/references/n",
        ],
      ] as const;
      for (const [definition, pointer] of rejected) {
        const answer = await client.put("/-/collections/heads", definition);
        assert.deepEqual(pointersOf(assertProblem(answer, "invalid-body")), [pointer]);
      }
      await define("heads", { references: { hat: to("hats") } });
      const dropped = assertProblem(await client.remove("/-/collections/hats"), "conflict");
      assert.match(dropped.detail, /heads/);
      ok(await client.remove("/-/collections/heads"));
      ok(await client.remove("/-/collections/hats"));
    });

    it("are listed as violations when stored ones name nothing", async () => {
      await define("parks", {});
      ok(await client.put("/parks/p", {}));
      ok(await client.put("/trees/a", { park: "p" }));
      ok(await client.put("/trees/b", { park: "q" }));
      const definition = { references: { park: to("parks") } };
      const { violations } = await define("trees", definition);
      const errors = [{ pointer: "/park", detail: "there is no resource with this id in parks" }];
      assert.deepEqual(violations, { count: 1, first: [{ id: "b", errors }] });
      assertProblem(await client.remove("/parks/p"), "conflict");
    });

    it("never name nothing, with concurrent writers and deletions", within(600_000), async () => {
      const random = randomNumbers(newSeed(`references on ${store}`));
      const pick = (most: number) => Math.floor(random() * most);
      await define("customers", {});
      await define("goods", {});
      await define("sales", {
        unique: ["number"],
        references: {
          customer: to("customers", "cascade"),
          "lines[].good": to("goods"),
          "gifts[]": to("goods", "unset"),
        },
      });
      const kinds = 6;
      const good = () => `g${pick(kinds)}`;
      const id = () => `s${pick(kinds * 2)}`;
      const sale = () => ({
        customer: `c${pick(kinds)}`,
        lines: [{ good: good() }],
        gifts: [good(), good()],
      });
      const write = () => client.put(`/sales/${id()}`, sale());
      const lines = () => [1, 2, 3].map(() => JSON.stringify({ id: id(), ...sale() })).join("\n");
      const steps: readonly (() => Promise<Answer>)[] = [
        ...[write, write, write],
        () => client.put(`/customers/c${pick(kinds)}`, {}),
        () => client.put(`/goods/g${pick(kinds)}`, {}),
        () => client.remove(`/customers/c${pick(kinds)}`),
        () => client.remove(`/goods/g${pick(kinds)}`),
        () => client.patch(`/sales/${id()}`, { customer: `c${pick(kinds)}` }),
        () => client.patch(`/sales/${id()}`, { append: { gifts: [good()] } }, operations),
        () => client.put(`/sales?number=${pick(kinds)}`, sale()),
        () => client.post("/sales?key=id", lines(), { "content-type": "application/x-ndjson" }),
        () =>
          client.batch([
            { method: "DELETE", path: `/goods/${good()}` },
            { method: "PUT", path: `/sales?number=${pick(kinds)}`, body: sale() },
          ]),
      ];
      const counts = new Map<number, number>();
      // Some seeds have no deletion that succeeds in the first rounds.
      const isVaried = () => [201, 204].every((status) => counts.has(status));
      for (let round = 0; round < runs(8, 400) || !isVaried(); round++) {
        const chosen = Array.from({ length: 10 }, () => steps[pick(steps.length)] ?? write);
        for (const { status } of await Promise.all(chosen.map((step) => step())))
          counts.set(status, (counts.get(status) ?? 0) + 1);
        const [customers, goods] = [new Set(await ids("customers")), new Set(await ids("goods"))];
        const { data } = await client.json<{ data: Fields[] }>("/sales?limit=1000");
        for (const { customer, lines, gifts } of data as unknown as readonly Sale[]) {
          assert.ok(customers.has(customer), customer);
          for (const { good } of lines) assert.ok(goods.has(good), good);
          for (const gift of gifts) assert.ok(goods.has(gift), gift);
        }
      }
      for (const status of counts.keys()) assert.ok(allowed.has(status), `${status}`);
    });
  });
}

interface Sale {
  readonly customer: string;
  readonly lines: readonly { readonly good: string }[];
  readonly gifts: readonly string[];
}

const operations = { "content-type": "application/vnd.restante.operations+json" };
const allowed = new Set([200, 201, 204, 400, 404, 409]);
