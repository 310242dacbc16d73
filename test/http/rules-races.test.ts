// Rights that are lost while writes are under way: no write passes after the loss was acknowledged. On
// Postgres, the right is lost on one node, and the writes are sent to another.
// @tier all

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { PostgresServer } from "../postgres-server.ts";
import { runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently } from "./client.ts";
import type { Answer } from "./expect.ts";

/** A way to depend on a membership, and to lose it. */
interface Shape {
  readonly races: number;
  /** What the rules ask of a post. */
  readonly condition: object;
  readonly references?: object;
  /** Ends the membership with this id. */
  end(admin: Client, id: string): Promise<Answer>;
}

const shapes: Readonly<Record<string, Shape>> = {
  "a set": {
    races: runs(8, 200),
    condition: { team: { in: "$my.teams" } },
    end: (admin, id) => admin.remove(`/memberships/${id}`),
  },
  "a reference": {
    races: runs(4, 80),
    condition: { "team.user": "$me" },
    references: { team: { collection: "memberships" } },
    end: (admin, id) => admin.patch(`/memberships/${id}`, { user: "nobody" }),
  },
};

type Write = (ann: Client, team: string, path: string) => Promise<unknown>[];

const writes: readonly Write[] = [
  (ann, team) => Array.from({ length: 4 }, (_, n) => ann.post("/posts", { team, n })),
  (ann, _, path) => Array.from({ length: 4 }, (_, n) => ann.patch(path, { n })),
  (ann, team, path) => [
    ann.batch([
      { method: "POST", path: "/posts", body: { team } },
      { method: "PATCH", path, body: { n: 1 } },
    ]),
    ann.post("/posts", `{"team":"${team}"}\n{"team":"${team}"}\n`, {
      "content-type": "application/x-ndjson",
    }),
  ],
  (ann, team, path) => [ann.remove(path), ann.put(path, { team, n: 1 })],
];

for (const store of storesHere("postgres", ["sqlite", "postgres"]))
  for (const [name, shape] of Object.entries(shapes)) {
    describe(`a membership by ${name} that ends while its member writes, on ${store}`, () => {
      let server: PostgresServer | undefined;
      let nodes: readonly TestApp[] = [];
      let admin: Client;
      let ann: Client;
      before(async () => {
        if (store === "postgres") server = await PostgresServer.shared();
        const url = await server?.preparedDatabase();
        const app = await startApp(url === undefined ? {} : { store: url });
        const other = url === undefined ? app : await startApp({ store: url });
        nodes = [...new Set([app, other])];
        admin = new Client(app);
        const { condition, references = {} } = shape;
        const teams = { collection: "memberships", where: { user: "$me" }, field: "team" };
        const grant = { name: "member", to: "token" };
        const update = [{ ...grant, where: condition }];
        const create = [{ ...grant, check: condition }];
        const access = { read: "token", create, update, delete: update };
        for (const [path, text] of [
          ["/-/collections/memberships", {}],
          ["/-/access", { sets: { teams } }],
          ["/-/collections/posts", { references, access }],
        ] as const) {
          const { status, body } = await admin.put(path, text);
          assert.ok(status < 300, body);
        }
        const token = { name: "ann", subject: "ann", scopes: ["posts:*", "memberships:read"] };
        const made = await admin.post("/-/tokens", token);
        ann = new Client(other, JSON.parse(made.body).token);
      });
      after(async () => {
        for (const node of nodes) await node.stop();
        await server?.close();
      });

      const join = async (id: string) => {
        const joined = await admin.put(`/memberships/${id}`, { user: "ann", team: id });
        assert.equal(joined.status, 201, joined.body);
      };

      /** Ends a membership while writes that need it are sent. Returns the state then, and at last. */
      async function race(id: string, write: Write) {
        await join(id);
        const path = `/posts/p-${id}`;
        const first = await ann.put(path, { team: id });
        assert.equal(first.status, 201, first.body);
        const posts = async () => (await admin.get(`/posts?team=${id}&limit=100`)).body;
        const sent = write(ann, id, path);
        const ended = await shape.end(admin, id);
        assert.ok(ended.status < 300, ended.body);
        const then = await posts();
        await Promise.all(sent);
        return [then, await posts()];
      }

      it(`lets none pass after it was acknowledged, in ${shape.races} races`, async () => {
        await concurrently(writes.length, async (lane) => {
          const write = writes[lane];
          assert.ok(write !== undefined);
          for (let round = 0; round < shape.races / writes.length; round++) {
            const [ended, last] = await race(`m${lane}-${round}`, write);
            assert.equal(last, ended, `${lane}, ${round}`);
          }
        });
      });

      it("lets members write while others come and go", async () => {
        await join("stays");
        const done = await concurrently(20, async (index) => {
          if (index % 2 === 0) return admin.put(`/memberships/other${index}`, { user: "bob" });
          return ann.post("/posts", { team: "stays" });
        });
        assert.deepEqual([...new Set(done.map(({ status }) => status))], [201]);
      });
    });
  }
