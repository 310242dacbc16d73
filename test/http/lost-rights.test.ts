// Rights that end in the access document, in a definition or with a token: no write passes after it was acknowledged.
// @tier all

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { fileURLToPath } from "node:url";
import { runs } from "../seeds.ts";
import { itOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently } from "./client.ts";
import { answerOf, assertProblem } from "./expect.ts";
import { closeGate, go, waiting } from "./late-actions/_gate.ts";

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

/** Requests that change nothing but what administrators set, or change nothing at all, and their bodies. */
const requests: readonly (readonly [method: string, path: string, body: object])[] = [
  ["POST", "/-/tokens", { name: "eve", scopes: ["admin"] }],
  ["PUT", "/-/access", { roles: { boss: ["admin"], eve: ["admin"] }, sets: {} }],
  ["PUT", "/-/collections/eves", {}],
  ["PUT", "/-/collections/eves/definition", {}],
  ["PUT", "/-/collections/plain?dry-run=true", {}],
  ["QUERY", "/-/access", { verb: "read", collection: "plain" }],
  ["QUERY", "/plain", {}],
  ["POST", "/-/actions/late", {}],
  ["POST", "/-/signed-urls", { path: "/plain/1/file" }],
  ["DELETE", "/-/tokens/00000000-0000-7000-8000-000000000000", {}],
  ["DELETE", "/-/collections/plain?confirm=plain", {}],
];

/** A body that arrives after something has happened. */
const bodyAfter = (happen: () => Promise<unknown>, text: string) =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await happen();
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );

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
      const actions = fileURLToPath(new URL("late-actions", import.meta.url));
      app = await startApp({ actions, ...(store === "postgres" && { store }) });
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

    /** Sends a request whose body comes after the end of what its caller may do. */
    const sendAfter = async (
      happen: () => Promise<unknown>,
      token: string,
      [method, path, sent]: (typeof requests)[number],
    ) => {
      const headers = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "transfer-encoding": "chunked",
        host: "localhost",
      };
      const body = bodyAfter(happen, JSON.stringify(sent));
      const init = { method, headers, body, duplex: "half" };
      return answerOf(app.direct(new Request(`${app.url}${path}`, init as RequestInit)));
    };

    it("do not let an administrator do anything whose token ends while the body arrives", async () => {
      for (const request of requests) {
        const { id, token } = await issue({ scopes: ["admin"] });
        const answer = await sendAfter(() => admin.remove(`/-/tokens/${id}`), token, request);
        assertProblem(answer, "unauthenticated");
      }
      await assertNothingDone();
    });

    it("do not let one do anything whose role ends while the body arrives", async () => {
      for (const request of requests) {
        await put("/-/access", { roles: { boss: ["admin"] }, sets: teams("$me") });
        const { token } = await issue({ scopes: [], roles: ["boss"] });
        const end = () => put("/-/access", { roles: { boss: [] }, sets: teams("$me") });
        const answer = await sendAfter(end, token, request);
        assertProblem(answer, "insufficient-scope");
      }
      await assertNothingDone();
    });

    const assertNothingDone = async () => {
      const { body } = await admin.get("/-/tokens");
      assert.ok(!body.includes('"eve"'), body);
      assert.ok(!(await admin.get("/-/access")).body.includes("eve"));
      assertProblem(await admin.get("/-/collections/eves"), "not-found");
      assert.equal((await admin.get("/-/collections/plain")).status, 200);
    };

    it("end in an action that goes on", async () => {
      closeGate();
      const { id, token } = await issue({ scopes: ["plain:*", "action:late"] });
      const running = new Client(app, token).post("/-/actions/late", { collection: "plain" });
      await waiting.promise;
      assert.equal((await admin.remove(`/-/tokens/${id}`)).status, 204);
      go.resolve();
      const { status, body } = await running;
      assert.deepEqual([status, JSON.parse(body)], [200, Array(3).fill("unauthenticated")]);
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
