// DELETE of a resource.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openConnection } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently } from "./client.ts";
import { assertProblem } from "./expect.ts";

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp();
  client = new Client(app);
});
after(() => app.stop());

describe("DELETE", () => {
  it("returns 204 with no body and no headers about one", async () => {
    await client.putAndReadTag("/people/wire", {});
    const wire = await openConnection(app.port);
    const head = (method: string) =>
      `${method} /people/wire HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${app.admin}\r\n`;
    wire.write(`${head("DELETE")}\r\n`);
    const answer = await wire.response();
    assert.equal(answer?.status, 204);
    for (const name of ["content-length", "transfer-encoding", "content-type", "etag"])
      assert.equal(answer?.headers[name], undefined, name);
    assert.equal(answer?.headers["cache-control"], "no-store");
    // The same connection goes on, and nothing of a body is in the way.
    wire.write(`${head("GET")}\r\n`);
    assert.equal((await wire.response())?.status, 404);
    wire.destroy();
  });

  it("is 204, then 404; a GET after it is 404", async () => {
    const id = `${(await app.post("people", { a: 1 })).id}`;
    const total = await app.total("people");
    assert.equal((await client.remove(`/people/${id}`)).status, 204);
    assert.equal(await app.total("people"), total - 1);
    for (let time = 0; time < 2; time++) {
      await client.rejects("people", "not-found", () => client.remove(`/people/${id}`));
      assertProblem(await client.get(`/people/${id}`), "not-found");
    }
  });

  it("ignores a body, and reads it to its end", async () => {
    await client.putAndReadTag("/people/body", {});
    const wire = await openConnection(app.port);
    const head = (method: string) =>
      `${method} /people/body HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${app.admin}\r\n`;
    wire.write(
      `${head("DELETE")}Content-Type: text/nonsense\r\nContent-Length: 12\r\n\r\nGET / HTTP/1`,
    );
    assert.equal((await wire.response())?.status, 204);
    wire.write(`${head("GET")}\r\n`);
    assert.equal((await wire.response())?.status, 404);
    wire.destroy();
  });

  it("leaves other resources unchanged, and pages and totals exact", async () => {
    for (let index = 0; index < 10; index++)
      await client.putAndReadTag(`/pages/p${index}`, { index });
    for (const index of [0, 4, 9]) await client.remove(`/pages/p${index}`);
    const pages = [];
    for (const page of [1, 2, 3, 4]) {
      const { data, total } = await client.json<{ data: { id: string }[]; total: number }>(
        `/pages?limit=3&page=${page}`,
      );
      assert.equal(total, 7);
      pages.push(data.map(({ id }) => id));
    }
    assert.deepEqual(pages, [["p1", "p2", "p3"], ["p5", "p6", "p7"], ["p8"], []]);
  });

  it("frees the id: a new resource with it has another ETag and time", async () => {
    const first = await client.putAndReadTag("/people/phoenix", { life: 1 });
    const { createdAt } = await client.json<{ createdAt: string }>("/people/phoenix");
    await client.remove("/people/phoenix");
    assert.equal((await client.put("/people/phoenix", { life: 1 })).status, 201);
    assert.notEqual(await client.tag("/people/phoenix"), first);
    const again = await client.json<{ createdAt: string }>("/people/phoenix");
    assert.ok(again.createdAt >= createdAt);
    // It is the newest now, in the order of creation too.
    const { data } = await client.json<{ data: { id: string }[] }>(
      "/people?sort=-createdAt&limit=1",
    );
    assert.deepEqual(
      data.map(({ id }) => id),
      ["phoenix"],
    );
  });

  it("is 404 for an id that cannot exist", async () => {
    for (const path of ["/people/-bad-", "/people/nobody", "/nowhere/nobody"])
      await client.rejects("people", "not-found", () => client.remove(path));
    assert.equal((await client.get("/nowhere")).status, 404);
  });

  it("is 400 with a parameter", async () => {
    await client.putAndReadTag("/people/asked", {});
    await client.rejects("people", "invalid-parameter", () => client.remove("/people/asked?a=1"));
  });

  it("needs the scope to delete", async () => {
    await client.putAndReadTag("/people/scoped", {});
    const others = new Client(
      app,
      await app.token("people:read", "people:create", "people:update"),
    );
    for (const path of ["/people/scoped", "/people/nobody", "/nowhere/nobody"])
      await client.rejects("people", "insufficient-scope", () => others.remove(path));
    const remover = new Client(app, await app.token("people:delete"));
    assert.equal((await remover.remove("/people/scoped")).status, 204);
  });

  it("by many clients at once succeeds for one", async () => {
    for (let round = 0; round < 5; round++) {
      await client.putAndReadTag("/people/contested", { round });
      const answers = await concurrently(16, (index) =>
        client.remove("/people/contested", index % 2 === 0 ? {} : { "if-match": "*" }),
      );
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [204, ...Array(15).fill(404)]);
    }
  });
});
