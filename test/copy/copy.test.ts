// Copies between engines: everything is there, clients go on at the copy, also when others write meanwhile.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { copyStore } from "../../src/copy/copy.ts";
import type { Config } from "../../src/server/config.ts";
import { copy } from "../../src/server/copies.ts";
import { filesFolder } from "../../src/server/open-files.ts";
import { openSource } from "../../src/server/open-transfer.ts";
import { openDisk } from "../../src/store/disk/disk.ts";
import { openSqliteReplica } from "../../src/store/sqlite/replica.ts";
import type { Snapshot, TransferSource } from "../../src/store/transfer/transfer.ts";
import {
  Client,
  clientCount,
  copyOf,
  defineCollections,
  untilBegun,
  verify,
} from "../backup/load-clients.ts";
import { describeApp, fill, key, noTrack, Place, upload, withApp } from "../backup/stores.ts";
import type { TestApp } from "../http/app.ts";
import { PostgresServer } from "../postgres-server.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { itLong } from "../short-run.ts";

let postgres: Promise<PostgresServer> | undefined;
const server = () => {
  postgres ??= PostgresServer.shared();
  return postgres;
};
after(async () => (await postgres)?.close());

const placeOf = (config: Config) => ({ ...config, files: filesFolder(config) });

const placesOf = (from: Config, to: Config) => ({
  from: from.store === undefined ? from : placeOf(from),
  to: to.store === undefined ? to : placeOf(to),
});

const copyTo = (from: Config, to: Config, onHold: (state: "begins" | "ends") => void = () => {}) =>
  copy({ ...placesOf(from, to), track: noTrack, onHold });

const json = (method: string, body: unknown, headers = {}) => ({
  method,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/** What a client has got, to go on with. */
interface Held {
  readonly path: string;
  readonly tag: string;
  readonly cursor: string;
  readonly since: string;
  readonly order: unknown;
}

async function begin(app: TestApp): Promise<Held> {
  const page = await app.request("/people?limit=5&sort=age&cursor=");
  const { data, next } = (await page.json()) as { data: { id: string }[]; next: string };
  const path = `/people/${data[0]?.id}`;
  const feed = await app.request("/people?since=0&limit=3");
  const order = await (await app.request("/orders", json("POST", { n: 1 }, key))).json();
  return {
    ...{ path, order, cursor: next },
    tag: (await app.request(path)).headers.get("etag") ?? "",
    since: ((await feed.json()) as { next: string }).next,
  };
}

async function goOn(app: TestApp, { path, tag, cursor, since, order }: Held): Promise<unknown> {
  const same = await app.request(path, { headers: { "if-none-match": tag } });
  assert.equal(same.status, 304);
  const feed = await app.request(`/people?limit=100&since=${encodeURIComponent(since)}`);
  assert.equal(feed.status, 200);
  const page = await app.request(`/people?sort=age&cursor=${encodeURIComponent(cursor)}`);
  assert.equal(page.status, 200);
  const again = await app.request("/orders", json("POST", { n: 1 }, key));
  assert.deepEqual(await again.json(), order);
  const seen = [await feed.text(), await page.text()];
  const changed = await app.request(path, json("PATCH", { age: 5 }, { "if-match": tag }));
  assert.equal(changed.status, 200);
  return seen;
}

const pairs = [
  ["sqlite", "postgres"],
  ["postgres", "sqlite"],
] as const;

for (const [from, to] of pairs)
  describe(`a copy from ${from} to ${to}`, () => {
    it("has everything, and clients go on with it", () =>
      Place.run(server, async (place) => {
        const [first, second, third] = [
          ...[await place.config(from), await place.config(to), await place.config(from)],
        ] as const;
        assert.ok(first && second && third);
        const { secrets, held, before } = await withApp(first, async (app) => {
          const secrets = await fill(app);
          const held = await begin(app);
          const before = await describeApp(app, secrets);
          await app.request("/-/access", json("PUT", { roles: {}, sets: {} }));
          // The server runs meanwhile.
          const copied = await copyTo(first, second);
          assert.deepEqual([copied.files, copied.lost], [5, []]);
          const listed = (await (await app.request("/-/collections")).json()) as {
            data: unknown[];
          };
          assert.equal(copied.collections, listed.data.length);
          return { secrets, held, before };
        });
        await copyTo(second, third);
        const seen = await withApp(
          second,
          async (app) => {
            assert.deepEqual(await describeApp(app, secrets), before);
            return goOn(app, held);
          },
          secrets.admin,
        );
        await withApp(
          third,
          async (app) => {
            assert.deepEqual(await describeApp(app, secrets), before);
            assert.deepEqual(await goOn(app, held), seen);
          },
          secrets.admin,
        );
      }));

    itLong("has what was acknowledged before writes waited", () =>
      Place.run(server, async (place) => {
        const random = randomNumbers(newSeed(`copy from ${from} to ${to} under load`));
        const source = await place.config(from);
        await withApp(source, async (app) => {
          await defineCollections(app);
          const clients = Array.from({ length: clientCount }, (_, n) => new Client(app, n));
          for (let attempt = 0; attempt < runs(1, 25); attempt++) {
            const target = await place.config(to);
            let isStopped = false;
            const work = Promise.all(clients.map((client) => client.work(() => isStopped)));
            await untilBegun(clients, random() * 100);
            let before = copyOf(clients);
            let later = before;
            const onHold = (state: "begins" | "ends") => {
              if (state === "begins") before = copyOf(clients);
              else later = copyOf(clients);
            };
            await copyTo(source, target, onHold).finally(() => {
              isStopped = true;
            });
            await work;
            await withApp(target, (copied) => verify(copied, before, later), app.admin);
          }
        });
      }),
    );

    // A source on Postgres has a connection during a snapshot only.
    const skip = to !== "postgres";
    it("says that a connection was lost, and goes on", { skip }, () =>
      Place.run(server, async (place) => {
        const [source, target] = [await place.config(from), await place.config(to)] as const;
        await withApp(source, async (app) => {
          await app.post("items", { n: 1 });
          let ending: Promise<unknown> | undefined;
          const follow = {
            hasStopped: () => false,
            onRound() {
              ending ??= endConnections(target.store);
            },
          };
          const rest = { track: noTrack, onHold: () => undefined, follow };
          const losing = copy({ ...placesOf(source, target), ...rest });
          await assert.rejects(losing, /run the same command again to continue/);
          await ending;
        });
        assert.equal((await copyTo(source, target)).resources, 1);
      }),
    );

    // Files do not depend on where the rows are.
    const itOnce = from === "sqlite" ? it : itLong;
    itOnce("goes on when a file of the source is repaired", () =>
      Place.run(server, async (place) => {
        const source = await place.config(from);
        const target = await place.config(to);
        const id = await withApp(source, (app) => upload(app, "some content"));
        const [path] = await filesIn(filesFolder(source) ?? "");
        assert.ok(path);
        await writeFile(path, "some CONTENT");
        const { lost } = await copyTo(source, target);
        assert.deepEqual(
          lost.map((file) => [file.collection, file.id, file.name]),
          [["docs", id, "file"]],
        );
        await writeFile(path, "some content");
        assert.deepEqual((await copyTo(source, target)).lost, []);
        await assert.rejects(copyTo(source, target), /is not empty/);
      }),
    );
  });

const endConnections = async (url: string | undefined) =>
  (await server()).admin(
    (sql) => sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'restante'`,
    url,
  );

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
}

for (const engine of ["sqlite", "postgres"] as const)
  describe(`a copy of ${engine}`, () => {
    it("follows collections that are dropped, made again and defined anew", () =>
      Place.run(server, async (place) => {
        const source = await place.config(engine);
        const target = place.path("copy");
        let snapshots = 0;
        const admin = await withApp(source, async (app) => {
          const { source: opened, files } = openSource(source);
          for (const name of ["dropped", "again", "defined"])
            for (let n = 0; n < 20; n++) await app.post(name, { n });
          await app.request("/defined/secret", json("PUT", { text: "forgotten words" }));
          await upload(app, "kept");
          const deleted = ["/defined/secret", `/docs/${await upload(app, "forgotten")}`];
          const changing: TransferSource = {
            holdWrites: () => opened.holdWrites(),
            async snapshot() {
              const snapshot = await opened.snapshot();
              // The second one is that of the rows.
              if (++snapshots === 2) await change(app, deleted);
              return snapshot;
            },
          };
          const { id } = (await opened.snapshot().then(closed)).store;
          await copyStore({
            ...{ source: changing, replica: openSqliteReplica(target, id), track: noTrack },
            files: () => ({ from: files, to: openDisk(join(target, "files")) }),
            onHold: () => undefined,
          });
          return app.admin;
        });
        assert.equal(snapshots, 4);
        const files = await filesIn(join(target, "files"));
        assert.deepEqual(await Promise.all(files.map((file) => readFile(file, "utf8"))), ["kept"]);
        const database = await readFile(join(target, "restante.db"), "latin1");
        assert.ok(!database.includes("forgotten words"));
        await withApp(
          { ...(await place.config("sqlite")), data: target },
          async (app) => {
            assert.equal((await app.request("/dropped")).status, 404);
            assert.equal(await app.total("again"), 1);
            assert.equal(await app.total("defined?n=7"), 1);
            assert.equal(await app.total("defined?q=seven"), 1);
          },
          admin,
        );
      }));
  });

describe("the files of a copy", () => {
  it("are all there before writes go on, also those that were uploaded meanwhile", () =>
    Place.run(server, async (place) => {
      const source = await place.config("sqlite");
      const target = place.path("copy");
      await withApp(source, async (app) => {
        const { source: opened, files } = openSource(source);
        const contents = ["0"];
        await upload(app, "0");
        const uploading: TransferSource = {
          holdWrites: () => opened.holdWrites(),
          async snapshot() {
            const snapshot = await opened.snapshot();
            // The fourth one is taken while writes wait.
            if (contents.length < 4) {
              contents.push(`${contents.length}`);
              await upload(app, contents.at(-1) ?? "");
            }
            return snapshot;
          },
        };
        const { id } = (await opened.snapshot().then(closed)).store;
        let there: readonly string[] = [];
        await copyStore({
          ...{ source: uploading, replica: openSqliteReplica(target, id), track: noTrack },
          files: () => ({ from: files, to: openDisk(join(target, "files")) }),
          onHold(state) {
            if (state === "ends") there = readAllIn(join(target, "files"));
          },
        });
        assert.deepEqual(there, contents);
      });
    }));
});

const readAllIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => readFileSync(join(each.parentPath, each.name), "utf8"))
    .toSorted();

async function change(app: TestApp, deleted: readonly string[]): Promise<void> {
  for (const path of deleted)
    assert.equal((await app.request(path, { method: "DELETE" })).status, 204);
  for (const name of ["dropped", "again"])
    await app.request(`/-/collections/${name}?confirm=${name}`, { method: "DELETE" });
  await app.post("again", { n: "new" });
  const definition = { indexed: ["n"], searchable: ["t"] };
  const defined = await app.request("/-/collections/defined", json("PUT", definition));
  assert.equal(defined.status, 200);
  await app.post("defined", { t: "seven" });
}

async function closed(snapshot: Snapshot): Promise<Snapshot> {
  await snapshot.close();
  return snapshot;
}
