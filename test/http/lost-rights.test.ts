// Rights that end in the access document, in a definition or with a token: no write passes after it was acknowledged.

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { runs } from "../seeds.ts";
import { itOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently } from "./client.ts";
import { answerOf, assertProblem } from "./expect.ts";

interface IssuedToken {
  readonly id: string;
  readonly token: string;
}

/** A right, as what gives it and what is left without it. */
interface Right {
  readonly path: string;
  readonly given: object;
  readonly ended: object;
}

const teams = (user: string) => ({
  teams: { collection: "memberships", where: { user }, field: "team" },
});
const byTeam = { team: { in: "$my.teams" } };
const access = (update: object) => ({ access: { update: [{ name: "one", ...update }] } });

const rights: Readonly<Record<string, Right>> = {
  "a role that gives a scope": {
    path: "/-/access",
    given: { roles: { writer: ["plain:*"], member: [] }, sets: teams("$me") },
    ended: { roles: { writer: [], member: [] }, sets: teams("$me") },
  },
  "a role that a grant is for": {
    path: "/-/access",
    given: { roles: { writer: [], member: [] }, sets: teams("$me") },
    ended: { roles: { writer: [] }, sets: teams("$me") },
  },
  "a set": {
    path: "/-/access",
    given: { roles: { writer: [], member: [] }, sets: teams("$me") },
    ended: { roles: { writer: [], member: [] }, sets: teams("nobody") },
  },
  "a grant": {
    path: "/-/collections/granted",
    given: access({ to: "token" }),
    ended: access({ to: { scope: "other:update" } }),
  },
};

const collectionOf: Readonly<Record<string, string>> = {
  "a role that gives a scope": "plain",
  "a role that a grant is for": "roled",
  "a set": "grouped",
  "a grant": "granted",
};

for (const store of ["sqlite", "postgres"])
  describe(`rights that end while they are used, on ${store}`, () => {
    const it = itOn(store);
    let app: TestApp;
    let admin: Client;
    const put = async (path: string, body: object) => {
      const answer = await admin.put(path, body);
      assert.ok(answer.status < 300, answer.body);
    };
    const issue = async (request: object): Promise<IssuedToken> => {
      const { status, body } = await admin.post("/-/tokens", { name: "ann", ...request });
      assert.equal(status, 201, body);
      return JSON.parse(body);
    };

    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      admin = new Client(app);
      await put("/memberships/1", { user: "ann", team: "red" });
      await put("/-/access", rights["a set"]?.given ?? {});
      await put("/-/collections/plain", {});
      await put("/-/collections/roled", access({ to: { role: "member" } }));
      await put("/-/collections/grouped", access({ to: "token", where: byTeam }));
      await put("/-/collections/granted", access({ to: "token" }));
    });
    after(() => app.stop());

    for (const [name, { path, given, ended }] of Object.entries(rights))
      it(`let no write pass after ${name} has ended`, async () => {
        const collection = collectionOf[name] ?? "";
        const scopes = ["roled:read", "grouped:*", "granted:*"];
        const ann = new Client(
          app,
          (await issue({ subject: "ann", scopes, roles: ["writer", "member"] })).token,
        );
        await put(`/${collection}/1`, { team: "red", n: -1 });
        for (let round = 0; round < runs(6, 12); round++) {
          await put(path, given);
          const first = await ann.patch(`/${collection}/1`, { round });
          assert.equal(first.status, 200, first.body);
          const sent = concurrently(6, async (n) =>
            n % 2 === 0
              ? ann.patch(`/${collection}/1`, { n, round })
              : ann.batch([{ method: "PATCH", path: `/${collection}/1`, body: { n, round } }]),
          );
          await put(path, ended);
          const then = await admin.state(collection);
          const statuses = (await sent).map(({ status }) => status);
          assert.deepEqual(await admin.state(collection), then, `${round}: ${statuses}`);
          const last = await ann.patch(`/${collection}/1`, { n: 9 });
          assert.ok([403, 404].includes(last.status), last.body);
        }
      });

    it("do not let a body be stored that arrives after its token was revoked", async () => {
      const { id, token } = await issue({ scopes: ["plain:*"] });
      for (const type of ["application/json", "application/x-ndjson"]) {
        const before = await admin.state("plain");
        // It is read after the request was authorized.
        const body = new ReadableStream<Uint8Array>(
          {
            async pull(controller) {
              assert.equal((await admin.remove(`/-/tokens/${id}`)).status, 204);
              controller.enqueue(new TextEncoder().encode('{"n":1}'));
              controller.close();
            },
          },
          { highWaterMark: 0 },
        );
        const headers = {
          authorization: `Bearer ${token}`,
          "content-type": type,
          "content-length": "7",
          host: "localhost",
        };
        const init = { method: "POST", headers, body, duplex: "half" };
        const request = new Request(`${app.url}/plain`, init as RequestInit);
        const answer = await answerOf(app.direct(request));
        if (type === "application/json") assertProblem(answer, "unauthenticated");
        else assert.match(answer.body, /"status":401/);
        assert.deepEqual(await admin.state("plain"), before);
      }
    });
  });
