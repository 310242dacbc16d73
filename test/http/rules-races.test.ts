// Rights that are lost while writes are under way: no write passes after the loss was acknowledged.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently } from "./client.ts";

const races = 200;

const isMember = { "membership.user": "$me" };
const definition = {
  references: { membership: { collection: "memberships" } },
  access: {
    read: "token",
    create: [{ name: "member", to: "token", check: isMember }],
    update: [{ name: "member", to: "token", where: isMember }],
    delete: [{ name: "member", to: "token", where: isMember }],
  },
};

for (const store of storesHere("node", ["sqlite", "postgres"])) {
  describe(`a membership that ends while its member writes, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    let ann: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      for (const [name, text] of [
        ["memberships", {}],
        ["posts", definition],
      ] as const)
        assert.equal((await admin.put(`/-/collections/${name}`, text)).status, 201);
      const token = { name: "ann", subject: "ann", scopes: ["posts:*", "memberships:read"] };
      const made = await admin.post("/-/tokens", token);
      ann = new Client(app, JSON.parse(made.body).token);
    });
    after(() => app.stop());

    /** Ends a membership while writes that need it are sent. Returns the states at its end, and at last. */
    async function race(index: number, write: (id: string, path: string) => Promise<unknown>[]) {
      const id = `m${index}`;
      assert.equal((await admin.put(`/memberships/${id}`, { user: "ann" })).status, 201);
      const path = `/posts/p${index}`;
      assert.equal((await ann.put(path, { membership: id })).status, 201);
      const posts = async () => (await admin.get(`/posts?membership=${id}&limit=100`)).body;
      const writes = write(id, path);
      const ended = await admin.patch(`/memberships/${id}`, { user: "nobody" });
      assert.equal(ended.status, 200, ended.body);
      const states = [await posts()];
      await Promise.all(writes);
      states.push(await posts());
      return states;
    }

    const kinds: readonly ((id: string, path: string) => Promise<unknown>[])[] = [
      (membership) => Array.from({ length: 4 }, (_, n) => ann.post("/posts", { membership, n })),
      (_, path) => Array.from({ length: 4 }, (_, n) => ann.patch(path, { n })),
      (membership, path) => [
        ann.batch([
          { method: "POST", path: "/posts", body: { membership } },
          { method: "PATCH", path, body: { n: 1 } },
        ]),
        ann.post("/posts", `{"membership":"${membership}"}\n{"membership":"${membership}"}\n`, {
          "content-type": "application/x-ndjson",
        }),
      ],
      (_, path) => [ann.remove(path), ann.put(path, { membership: "none" })],
    ];

    it(`lets none pass after it was acknowledged, in ${races} races`, async () => {
      await concurrently(4, async (lane) => {
        const write = kinds[lane];
        assert.ok(write !== undefined);
        for (let round = 0; round < races / 4; round++) {
          const [ended, last] = await race(lane * races + round, write);
          assert.equal(last, ended, `${lane}, ${round}`);
        }
      });
    });

    it("lets members write while others come and go", async () => {
      assert.equal((await admin.put("/memberships/stays", { user: "ann" })).status, 201);
      const done = await concurrently(20, async (index) => {
        if (index % 2 === 0) return admin.put(`/memberships/other${index}`, { user: "bob" });
        return ann.post("/posts", { membership: "stays" });
      });
      assert.deepEqual([...new Set(done.map(({ status }) => status))], [201]);
    });
  });
}
