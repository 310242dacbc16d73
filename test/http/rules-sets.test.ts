// The sets of a caller: rules follow them after every commit, and the document that defines them is checked.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setLimits } from "../../src/domain/sets.ts";
import { lowerLimit } from "../lower-limit.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { Client, pointersOf } from "./client.ts";
import { assertProblem } from "./expect.ts";

const teams = { collection: "memberships", where: { user: "$me" }, field: "team" };

const text = { type: "string" };

const maxValues = lowerLimit(setLimits, "maxValues", 1_000, 10_000);

for (const store of storesHere("postgres", ["sqlite", "postgres"]))
  describe(`the sets of a caller, on ${store}`, () => {
    let app: TestApp;
    let admin: Client;
    let ann: Client;
    let nobody: Client;
    const captured = captureLog();

    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {}, captured.log);
      admin = new Client(app);
      const properties = { user: text, team: text };
      await admin.put("/-/collections/memberships", { schema: { type: "object", properties } });
      assert.equal((await admin.put("/-/access", { sets: { teams } })).status, 200);
      const defined = await admin.put("/-/collections/posts", {
        schema: { type: "object", properties: { title: text, team: text } },
        access: {
          read: [{ name: "team", to: "token", where: { team: { in: "$my.teams" } } }],
        },
      });
      assert.equal(defined.status, 201, defined.body);
      ann = new Client(app, await tokenOf("ann"));
      nobody = new Client(app, null);
      for (const team of ["red", "blue"])
        await admin.put(`/posts/${team}`, { title: `of ${team}`, team });
    });
    after(() => app.stop());

    async function tokenOf(subject: string): Promise<string> {
      const made = await admin.post("/-/tokens", { name: subject, subject, scopes: ["posts:*"] });
      assert.equal(made.status, 201, made.body);
      return JSON.parse(made.body).token;
    }

    const seen = async (): Promise<readonly string[]> => {
      const { status, body } = await ann.get("/posts");
      assert.equal(status, 200, body);
      return JSON.parse(body).data.map(({ id }: { id: string }) => id);
    };

    it("are empty for a caller who is in none, and unknown for an anonymous one", async () => {
      assert.deepEqual(await seen(), []);
      assert.equal((await ann.get("/posts/red")).status, 404);
      assert.equal((await nobody.get("/posts")).status, 401);
    });

    it("are exact after every commit", async () => {
      await admin.put("/memberships/1", { user: "ann", team: "red" });
      assert.deepEqual(await seen(), ["red"]);
      await admin.put("/memberships/2", { user: "ann", team: "blue" });
      assert.deepEqual(await seen(), ["red", "blue"]);
      assert.equal((await ann.get("/posts/blue")).status, 200);
      await admin.put("/memberships/1", { user: "bob", team: "red" });
      assert.deepEqual(await seen(), ["blue"]);
      assert.equal((await ann.get("/posts/red")).status, 404);
      await admin.remove("/memberships/2");
      assert.deepEqual(await seen(), []);
    });

    it("follow the document", async () => {
      await admin.put("/memberships/3", { user: "ann", team: "red" });
      assert.deepEqual(await seen(), ["red"]);
      const where = { user: "$me", team: { ne: "red" } };
      assert.equal(
        (await admin.put("/-/access", { sets: { teams: { ...teams, where } } })).status,
        200,
      );
      assert.deepEqual(await seen(), []);
      await admin.put("/-/access", { sets: { teams } });
      assert.deepEqual(await seen(), ["red"]);
    });

    it("with more values than the limit count as empty", async () => {
      const lines = (count: number) =>
        Array.from({ length: count }, (_, n) => JSON.stringify({ user: "ann", team: `t${n}` }));
      const sent = await admin.post("/memberships", lines(maxValues - 1).join("\n"), {
        "content-type": "application/x-ndjson",
        prefer: "return=minimal",
      });
      assert.equal(sent.status, 200, sent.body.slice(0, 200));
      assert.deepEqual(await seen(), ["red"]);
      await admin.put("/memberships/more", { user: "ann", team: "one more" });
      assert.deepEqual(await seen(), []);
      await captured.settled();
      assert.ok(
        captured.lines().some(({ msg }) => /the set teams .* counts as empty/i.test(String(msg))),
      );
      await admin.remove("/memberships/more");
      assert.deepEqual(await seen(), ["red"]);
    });

    it("cannot depend on what their resources refer to", async () => {
      const reference = { collection: "posts" };
      await admin.put("/-/collections/guests", {
        schema: { type: "object", properties: { post: text, user: text } },
        references: { post: reference },
      });
      const guests = { collection: "guests", where: { "post.team": "$me" }, field: "user" };
      const refused = await admin.put("/-/access", { sets: { teams, guests } });
      assert.deepEqual(pointersOf(assertProblem(refused, "invalid-body")), ["/sets/guests"]);
    });

    it("leave a grant without effect when they cannot be read any more", async () => {
      const blocked = { collection: "bans", where: { "by.name": "$me" }, field: "post" };
      await admin.put("/bans/1", { by: { name: "ann" }, post: "x" });
      assert.equal((await admin.put("/-/access", { sets: { teams, blocked } })).status, 200);
      const where = { $not: { title: { in: "$my.blocked" } } };
      const definition = { access: { read: [{ name: "not blocked", to: "token", where }] } };
      assert.equal((await admin.put("/-/collections/pages", definition)).status, 201);
      for (const title of ["x", "y"]) await admin.put(`/pages/${title}`, { title });
      const made = await admin.post("/-/tokens", {
        ...{ name: "ann", subject: "ann", scopes: ["pages:read"] },
      });
      const reader = new Client(app, JSON.parse(made.body).token);
      assert.deepEqual(JSON.parse((await reader.get("/pages")).body).total, 1);
      // The name of the field now leads to another collection.
      await admin.put("/-/collections/people", {});
      await admin.put("/people/1", {});
      await admin.remove("/bans/1");
      const moved = { references: { by: { collection: "people" } } };
      assert.equal((await admin.put("/-/collections/bans", moved)).status, 200);
      assertProblem(await reader.get("/pages"), "forbidden");
      assertProblem(await reader.get("/pages/y"), "forbidden");
      assert.equal((await admin.remove("/-/collections/pages?confirm=pages")).status, 204);
      assert.equal((await admin.put("/-/access", { sets: { teams } })).status, 200);
    });

    it("are checked in the document", async () => {
      const sets = {
        a: { collection: "memberships", where: { user: "$my.b" }, field: "team" },
        b: { collection: "memberships", where: { usr: "$me" }, field: "tem" },
        teams: { ...teams, where: { user: null } },
      };
      const refused = assertProblem(await admin.put("/-/access", { sets }), "invalid-body");
      assert.deepEqual(pointersOf(refused).toSorted(), [
        "/sets/a/where/user",
        "/sets/b/field",
        "/sets/b/where/usr",
        "/sets/teams/where/user",
      ]);
      const removed = await admin.put("/-/access", { sets: {} });
      assertProblem(removed, "invalid-body");
      assert.match(removed.body, /the rules of posts name the set teams/);
    });
  });
