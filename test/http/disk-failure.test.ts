// A disk that fails under a running server: writes are rejected, reads work, the data is repaired, and nothing is lost.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { newSecret } from "../../src/model/secret.ts";
import { type ServerProcess, start } from "../process.ts";
import { answerOf, assertProblem } from "./expect.ts";

const secret = newSecret();
const patience = { timeout: 300_000 };

let folder: string;
let server: ServerProcess | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
});
afterEach(async () => {
  server?.signal("SIGKILL");
  await server?.ended;
  await rm(folder, { recursive: true, force: true });
});

async function launch(workers: number): Promise<ServerProcess> {
  server = await start(["--data", join(folder, "data"), "--workers", `${workers}`], {
    cwd: folder,
    environment: { RESTANTE_ADMIN_TOKEN: secret },
  });
  return server;
}

const request = ({ url }: ServerProcess, path: string, body?: unknown) =>
  answerOf(
    fetch(url + path, {
      // A new connection each time, so that every worker gets its turn.
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        connection: "close",
      },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    }),
  );

for (const workers of [1, 2])
  describe(`a database whose WAL is deleted, with ${workers} process(es)`, () => {
    it("accepts no write until it is saved, and nothing is lost", patience, async () => {
      const running = await launch(workers);
      const kept: { location: string; body: string }[] = [];
      const create = async (n: number) => {
        const answer = await request(running, "/people", { n });
        const location = answer.headers.get("location") ?? "";
        if (answer.status === 201) kept.push({ location, body: answer.body });
        return answer;
      };
      for (let n = 0; n < 10; n++) assert.equal((await create(n)).status, 201);
      await rm(join(folder, "data", "restante.db-wal"));

      // The one that finds the WAL gone was committed into it, and may be there after the repair.
      assertProblem(await create(10), "unavailable");
      const second = await create(10);
      const ready = await request(running, "/-/ready");
      // On a slow machine the repair may be over by now.
      if (second.status !== 201)
        assert.match(
          assertProblem(second, "unavailable").detail,
          /disk of the database has failed.*reads still work/,
        );
      if (ready.status !== 200) assertProblem(ready, "unavailable");
      for (const { location, body } of kept)
        assert.equal((await request(running, location)).body, body);

      while ((await request(running, "/-/ready")).status !== 200) await sleep(50);
      for (let n = 11; n < 20; n++) {
        assert.equal((await create(n)).status, 201);
        // Every process sees what was just written.
        for (const { location, body } of kept.slice(-2))
          assert.equal((await request(running, location)).body, body);
      }
      // The log is written a little later than the responses.
      while (!running.stdout().includes("copied to new files and verified")) await sleep(50);
      assert.match(running.stdout(), /writes are rejected.*deleted or replaced/);

      running.signal("SIGKILL");
      await running.ended;
      const again = await launch(1);
      for (const { location, body } of kept)
        assert.equal((await request(again, location)).body, body);
    });
  });
