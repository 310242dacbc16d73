// Healthy stores: after random histories, while indexes are built, and under write load, nothing is found.

import assert from "node:assert/strict";
import { after, describe } from "node:test";
import type { Finding } from "../../src/doctor/finding.ts";
import type { Config } from "../../src/server/config.ts";
import { examine } from "../../src/server/doctor.ts";
import { openSource } from "../../src/server/open-transfer.ts";
import { phaseOf } from "../../src/store/core/index-build.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { fill, noTrack, Place, upload, withApp } from "../backup/stores.ts";
import fc from "../fast-check.ts";
import type { TestApp } from "../http/app.ts";
import { PostgresServer } from "../postgres-server.ts";
import { newSeed, runs } from "../seeds.ts";
import { itLong, itOn } from "../short-run.ts";
import { create, define, idsFrom, put } from "../store/contract/change-helpers.ts";
import { batch, Sequence } from "../store/contract/random-sequences.ts";
import { followDefinitions } from "../store/entries-follow.ts";

let postgres: Promise<PostgresServer> | undefined;
const server = () => {
  postgres ??= PostgresServer.shared();
  return postgres;
};
after(async () => (await postgres)?.close());

const openStore = ({ store, data }: Config): Promise<Store> =>
  store === undefined ? openSqlite({ path: data }) : openPostgres({ url: store, readers: 2 });

/** What is not well, without the settings of the test's Postgres. */
async function problemsOf(config: Config): Promise<readonly Finding[]> {
  const { findings } = await examine(config, { isQuick: false, track: noTrack });
  return findings.filter(({ state, check }) => state !== "ok" && check !== "storage");
}

async function isBuilding(config: Config): Promise<boolean> {
  const snapshot = await openSource(config).source.snapshot();
  await snapshot.close();
  return snapshot.collections.some(({ build }) => build && phaseOf(build) !== "none");
}

for (const engine of ["sqlite", "postgres"] as const)
  describe(`a healthy store on ${engine}`, () => {
    const it = itOn(engine);
    const inStore = (test: (config: Config) => Promise<void>) => () =>
      Place.run(server, async (place) => test(await place.config(engine)));

    it(
      "is healthy after random histories",
      inStore(async (config) => {
        const seed = newSeed(`healthy histories on ${engine}`);
        const samples = fc.sample(fc.array(batch, { minLength: 2, maxLength: 8 }), {
          numRuns: runs(6, 300),
          seed,
        });
        const store = await openStore(config);
        try {
          for (const [index, batches] of samples.entries()) {
            const sequence = new Sequence(index);
            for (const { steps } of batches) {
              const changes = sequence.changes(steps);
              sequence.model.commit(changes);
              await store.commit(changes);
            }
          }
          // The histories name files that nobody has uploaded.
          const problems = await problemsOf(config);
          assert.deepEqual(
            problems.filter(({ check }) => check !== "files"),
            [],
          );
        } finally {
          await store.close();
        }
      }),
    );

    itLong(
      "is healthy after each definition",
      inStore(async (config) => {
        const store = await openStore(config);
        try {
          await followDefinitions(store, async () =>
            assert.deepEqual(await problemsOf(config), []),
          );
        } finally {
          await store.close();
        }
      }),
    );

    it(
      "is healthy while indexes are built and dropped",
      inStore(async (config) => {
        const store = await openStore(config);
        try {
          const fields = (n: number) => JSON.stringify({ n, t: `word${n} other`, u: n % 50 });
          const rows = idsFrom(2_000).map((id, n) => put(id, { fields: fields(n) }));
          await store.commit([create(), ...rows]);
          const definitions = [
            '{"indexed":["n","t"],"searchable":["t"]}',
            '{"indexed":["n",["t","n"]],"unique":["n"]}',
            '{"searchable":["t"],"indexed":["u"]}',
            "{}",
          ];
          let running = 0;
          for (const definition of definitions) {
            await store.commit([define(definition)]);
            if (await isBuilding(config)) running++;
            for (let n = 0; n < runs(2, 3); n++) {
              assert.deepEqual(await problemsOf(config), []);
              await store.commit(rows.slice(n * 100, n * 100 + 50));
            }
          }
          assert.ok(running > 0);
        } finally {
          await store.close();
        }
      }),
    );

    it(
      "is healthy while clients write, upload and delete",
      inStore((config) =>
        withApp(config, async (app) => {
          await fill(app);
          let isStopped = false;
          const clients = [1, 2, 3].map((client) => work(app, client, () => isStopped));
          for (let n = 0; n < runs(3, 60); n++) assert.deepEqual(await problemsOf(config), []);
          isStopped = true;
          await Promise.all(clients);
        }),
      ),
    );
  });

async function work(app: TestApp, client: number, isStopped: () => boolean): Promise<void> {
  const docs: string[] = [];
  for (let n = 0; !isStopped(); n++) {
    await app.post("people", { name: `client ${client} ${n}`, age: n % 5 });
    docs.push(await upload(app, `${client} ${n}`.repeat(1 + (n % 100))));
    const old = docs.length > 3 ? docs.shift() : undefined;
    if (old !== undefined) await app.request(`/docs/${old}`, { method: "DELETE" });
  }
}
