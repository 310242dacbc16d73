// The doctor on Postgres beside running nodes: as a process, and while clients write.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { Config } from "../../src/server/config.ts";
import { examine, repair } from "../../src/server/doctor.ts";
import { noTrack, Place, withApp } from "../backup/stores.ts";
import type { TestApp } from "../http/app.ts";
import { PostgresServer } from "../postgres-server.ts";
import { run } from "../process.ts";
import { runs } from "../seeds.ts";
import { withSql } from "./damage.ts";

let postgres: Promise<PostgresServer> | undefined;
const server = () => {
  postgres ??= PostgresServer.shared();
  return postgres;
};
after(async () => (await postgres)?.close());

const look = (config: Config) => examine(config, { isQuick: false, track: noTrack });

const errorsIn = async (config: Config) =>
  (await look(config)).findings.filter(({ state }) => state === "error");

const wrongCount = "UPDATE heads SET total = total + 5";
const lostEntries = "DELETE FROM entries WHERE seq % 3 = 0";

async function write(app: TestApp, client: number, isStopped: () => boolean): Promise<number> {
  let count = 0;
  for (; !isStopped(); count++) await app.post("people", { name: `client ${client}`, age: count });
  return count;
}

describe("the doctor on Postgres", () => {
  it("repairs while clients write, and no write is lost", () =>
    Place.run(server, async (place) => {
      const config = await place.config("postgres");
      await withApp(config, async (app) => {
        const definition = JSON.stringify({ indexed: ["age"], searchable: ["name"] });
        const headers = { "content-type": "application/json" };
        await app.request("/-/collections/people", { method: "PUT", headers, body: definition });
        let isStopped = false;
        const clients = [1, 2, 3].map((client) => write(app, client, () => isStopped));
        for (let n = 0; n < runs(1, 30); n++) {
          while ((await app.total("people")) < 20 * (n + 1)) await app.post("people", { age: n });
          await withSql(config, (sql) => sql(n % 2 === 0 ? wrongCount : lostEntries));
          await repair(config, await look(config), noTrack);
          assert.deepEqual(await errorsIn(config), []);
        }
        isStopped = true;
        const written = (await Promise.all(clients)).reduce((sum, count) => sum + count, 0);
        const named = await app.request("/people?q=client&limit=1");
        assert.equal(((await named.json()) as { total: number }).total, written);
        assert.deepEqual(await errorsIn(config), []);
      });
    }));

  it("is a command that takes --store and --files", () =>
    Place.run(server, async (place) => {
      const config = await place.config("postgres");
      await withApp(config, (app) => app.post("people", { name: "ann" }));
      const args = ["doctor", "--store", config.store ?? "", "--data", config.data];
      const cwd = place.folder;
      const well = await run(args, { cwd });
      assert.equal(well.code, 0, well.stdout + well.stderr);
      assert.match(well.stdout, /PostgreSQL [\d.]+ .*with(out)? data checksums, schema \d+\./);
      await withSql(config, (sql) => sql(wrongCount));
      assert.equal((await run([...args, "--json"], { cwd })).code, 1);
      const repaired = await run([...args, "--repair"], { cwd });
      assert.equal(repaired.code, 0, repaired.stdout + repaired.stderr);
      assert.match(repaired.stdout, /^Computed the indexes, .* of people again\.$/m);
      const nothing = await run(["doctor", "--store", "postgres://localhost:1/x"], { cwd });
      assert.equal(nothing.code, 1);
      assert.match(
        nothing.stdout,
        /^ERROR {3}database +The database cannot be read: .*ECONNREFUSED.*\n +Check --store/m,
      );
    }));
});
