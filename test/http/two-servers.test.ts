// Two servers on one store, the owner of its folder and a worker: guarantees hold across both.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import type { TestApp } from "./app.ts";
import { Client, concurrently } from "./client.ts";
import { assertProblem } from "./expect.ts";
import { startOwnerAndWorker } from "./owner-and-worker.ts";

let folder: string;
let apps: readonly TestApp[];
let one: Client;
let other: Client;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  const config = { data: join(folder, "data"), adminToken: newSecret() };
  apps = await startOwnerAndWorker(config);
  const [first, second] = apps.map((app) => new Client(app, config.adminToken));
  assert.ok(first !== undefined && second !== undefined);
  [one, other] = [first, second];
});
after(async () => {
  for (const app of apps) await app.stop();
  await rm(folder, { recursive: true, force: true });
});

const either = (index: number): Client => (index % 2 === 0 ? one : other);

describe("two servers on one store", () => {
  it("show immediately what the other has created, replaced or removed", async () => {
    for (let round = 0; round < 20; round++) {
      const [writer, reader] = [either(round), either(round + 1)];
      const path = `/people/p${round % 3}`;
      const { body } = await writer.put(path, { round });
      assert.equal((await reader.get(path)).body, body);
      const patched = await reader.patch(path, { again: round });
      const seen = await writer.get(path);
      assert.equal(seen.body, patched.body);
      assert.equal(seen.headers.get("etag"), patched.headers.get("etag"));
      assert.equal((await writer.remove(path)).status, 204);
      assertProblem(await reader.get(path), "not-found");
      assert.deepEqual(await reader.state("people"), await writer.state("people"));
    }
  });

  it("create a collection once, for concurrent writers on both", async () => {
    for (let round = 0; round < 10; round++) {
      const name = `young-${round}`;
      const answers = await concurrently(12, (index) =>
        index % 3 === 0
          ? either(index).put(`/${name}/i${index}`, {})
          : either(index).post(`/${name}`, { index }),
      );
      for (const { status, body } of answers) assert.equal(status, 201, body);
      assert.equal((await other.json<{ total: number }>(`/${name}`)).total, 12);
    }
  });

  it("lose no increment of concurrent clients on both", async () => {
    await one.putAndReadTag("/counters/one", { n: 0 });
    await concurrently(16, async (index) => {
      const client = either(index);
      for (;;) {
        const { headers, body } = await client.get("/counters/one");
        const { n }: { n: number } = JSON.parse(body);
        const tag = { "if-match": headers.get("etag") ?? "" };
        const { status } = await client.put("/counters/one", { n: n + 1 }, tag);
        if (status === 200) return;
        assert.equal(status, 412);
      }
    });
    assert.equal((await other.json<{ n: number }>("/counters/one")).n, 16);
  });

  it("apply all patches of concurrent clients on both", async () => {
    await one.putAndReadTag("/people/crowd", {});
    await concurrently(16, (index) =>
      either(index).patch("/people/crowd", { [`m${index}`]: index }),
    );
    const crowd = await other.json<Record<string, unknown>>("/people/crowd");
    for (let index = 0; index < 16; index++) assert.equal(crowd[`m${index}`], index);
  });

  it("execute once what is sent to both at once with one key", async () => {
    for (let round = 0; round < 5; round++) {
      const key = { "idempotency-key": `"both-${round}"` };
      const answers = await concurrently(12, (index) =>
        either(index).post("/once", { round }, key),
      );
      for (const { status, body } of answers) {
        assert.equal(status, 201, body);
        assert.equal(body, answers[0]?.body);
      }
      assert.equal((await one.json<{ total: number }>("/once")).total, round + 1);
    }
  });

  it("create once what both are asked to create", async () => {
    for (let round = 0; round < 10; round++) {
      const answers = await concurrently(4, (index) =>
        either(index).put(`/people/first-${round}`, { index }, { "if-none-match": "*" }),
      );
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [201, 412, 412, 412]);
    }
  });

  it("give and take the scopes of a role that was changed on the other", async () => {
    const request = { name: "editor", scopes: [], roles: ["editor"] };
    const { token } = JSON.parse((await one.post("/-/tokens", request)).body);
    await one.put("/posts/a", {});
    const clients: readonly Client[] = apps.map((app) => new Client(app, token));
    for (let round = 0; round < 10; round++) {
      const roles = round % 2 === 0 ? { editor: ["posts:*"] } : {};
      const replaced = await either(round).put("/-/access", { roles, sets: {} });
      assert.equal(replaced.status, 200, replaced.body);
      const expected = round % 2 === 0 ? 200 : 403;
      for (const client of [...clients, ...clients])
        assert.equal((await client.get("/posts/a")).status, expected);
      const tags = [await one.tag("/-/access"), await other.tag("/-/access")];
      assert.deepEqual(tags, Array(2).fill(replaced.headers.get("etag")));
    }
  });

  it("replace the access document once, for concurrent clients with the same If-Match", async () => {
    for (let round = 0; round < 5; round++) {
      const tag = await one.putAndReadTag("/-/access", { roles: { [`r${round}`]: [] }, sets: {} });
      const answers = await concurrently(4, (index) =>
        either(index).put("/-/access", { roles: { [`c${index}`]: [] } }, { "if-match": tag }),
      );
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [200, 412, 412, 412]);
    }
  });

  it("apply a definition that was set on the other", async () => {
    await one.put("/ruled/a", {});
    assert.equal((await other.patch("/ruled/a", {})).status, 200);
    await one.put("/-/collections/ruled", { preconditions: "required" });
    assertProblem(await other.patch("/ruled/a", {}), "precondition-required");
  });
});
