// A token that is revoked between the plan of a write and its commit: the answer is 401, and nothing is stored.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import type { Committer } from "../../src/store/remote-committer.ts";
import { PostgresServer } from "../postgres-server.ts";
import { itOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

const lines = { "content-type": "application/x-ndjson" };
const key = { "idempotency-key": "once" };

const writes: Readonly<Record<string, (client: Client) => Promise<Answer>>> = {
  "a POST": (client) => client.post("/things", { n: 2 }),
  "a POST with a key": (client) => client.post("/things", { n: 2 }, key),
  "a POST that refers to another resource": (client) => client.post("/referring", { thing: "1" }),
  "a POST of a unique value": (client) => client.post("/unique", { code: "b" }),
  "a POST to a new collection": (client) => client.post("/others", { n: 2 }),
  "lines that are all or none": (client) =>
    client.post("/things?atomic=true", '{"n":2}\n{"n":3}\n', lines),
  "a PUT": (client) => client.put("/things/1", { n: 2 }),
  "a PUT of a new resource": (client) => client.put("/things/2", { n: 2 }),
  "a PATCH": (client) => client.patch("/things/1", { n: 2 }),
  "an increment": (client) =>
    client.patch("/things/1", { increment: { n: 1 } }, { "content-type": "application/json" }),
  "a DELETE": (client) => client.remove("/things/1"),
  "a DELETE that others follow": (client) => client.remove("/targets/1"),
  "a batch": (client) =>
    client.batch([
      { method: "POST", path: "/things", body: { n: 2 } },
      { method: "PATCH", path: "/things/1", body: { n: 2 } },
    ]),
  "a definition": (client) => client.put("/-/collections/things", { indexed: ["n"] }),
  "a definition of a new collection": (client) => client.put("/-/collections/others", {}),
  "a deletion of a collection": (client) => client.remove("/-/collections/things?confirm=things"),
  "an access document": (client) => client.put("/-/access", { roles: { eve: ["admin"] } }),
  "the end of its own token": (client) => client.remove("/-/me/credential"),
  "a token": (client) => client.post("/-/tokens", { name: "eve", scopes: ["admin"] }),
};

for (const store of ["sqlite", "postgres"])
  describe(`a token that is revoked before the commit, on ${store}`, () => {
    const it = itOn(store);
    let data: string;
    let server: PostgresServer | undefined;
    let owner: TestApp;
    let worker: TestApp;
    let admin: Client;
    /** Runs before the next commit of the worker. */
    let beforeCommit: (() => Promise<unknown>) | undefined;

    before(async () => {
      data = await mkdtemp(join(tmpdir(), "restante-"));
      if (store === "postgres") server = await PostgresServer.shared();
      const config = { data, store: await server?.preparedDatabase() };
      owner = await startApp(config);
      const { writer } = owner;
      const committer: Committer = {
        async commit(changes) {
          const held = changes.every(({ kind }) => kind === "touch-token")
            ? undefined
            : beforeCommit;
          if (held !== undefined) beforeCommit = undefined;
          await held?.();
          return writer.commit(changes);
        },
        erase: (erasure) => writer.erase(erasure),
        scrub: (options) => writer.scrub(options),
        lastError: undefined,
        settled: async () => undefined,
        close: async () => undefined,
      };
      worker = await startApp({ ...config, adminToken: owner.admin }, undefined, committer);
      admin = new Client(owner);
      const cascade = { thing: { collection: "targets", onDelete: "cascade" } };
      for (const [path, body] of [
        ["/things/1", { n: 1 }],
        ["/targets/1", {}],
        ["/-/collections/unique", { unique: ["code"] }],
        ["/-/collections/referring", { references: { thing: { collection: "things" } } }],
        ["/-/collections/following", { references: cascade }],
        ["/following/1", { thing: "1" }],
        ["/-/access", { roles: {} }],
      ] as const) {
        const { status, body: words } = await admin.put(path, body);
        assert.ok(status < 300, words);
      }
    });
    after(async () => {
      await worker.stop();
      await owner.stop();
      await server?.close();
      await rm(data, { recursive: true, force: true });
    });

    /** Sends a write with a token that is revoked when the write has been planned. */
    const sendRevoked = async (send: (client: Client) => Promise<Answer>): Promise<Answer> => {
      const issued = await admin.post("/-/tokens", { name: "ann", scopes: ["admin"] });
      const { id, token } = JSON.parse(issued.body);
      let isRevoked = false;
      beforeCommit = async () => {
        isRevoked = (await admin.remove(`/-/tokens/${id}`)).status === 204;
      };
      const answer = await send(new Client(worker, token));
      assert.ok(isRevoked, answer.body);
      return answer;
    };

    const names = ["things", "targets", "unique", "referring", "following", "others"];
    const everything = async () => {
      const states = names.map((name) => admin.state(name));
      const definitions = names.map(async (name) => {
        const { status, body } = await admin.get(`/-/collections/${name}`);
        return status === 200 && body;
      });
      const rest = [admin.get("/-/access"), admin.get("/-/tokens")].map(async (get) => {
        const { body } = await get;
        return body.includes("eve");
      });
      return Promise.all([...states, ...definitions, ...rest]);
    };

    for (const [name, send] of Object.entries(writes))
      it(`does not let ${name} pass`, async () => {
        const then = await everything();
        assertProblem(await sendRevoked(send), "unauthenticated");
        assert.deepEqual(await everything(), then);
      });

    it("does not let lines pass", async () => {
      const then = await everything();
      const sent = '{"n":2}\n{"n":3}\n';
      const { body } = await sendRevoked((client) => client.post("/things", sent, lines));
      assert.deepEqual(new Set(body.match(/"status":\d+/g)), new Set(['"status":401']));
      assert.deepEqual(await everything(), then);
    });
  });
