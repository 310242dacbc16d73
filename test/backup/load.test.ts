// Backups that are taken while clients write, upload and delete: each restores to one point in time.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { makeBackup } from "../../src/backup/backup.ts";
import { createBackupFolder } from "../../src/backup/folder.ts";
import { openSource } from "../../src/server/open-transfer.ts";
import type { Snapshot, TransferSource } from "../../src/store/transfer/transfer.ts";
import { PostgresServer } from "../postgres-server.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import {
  Client,
  clientCount,
  copyOf,
  defineCollections,
  untilBegun,
  verify,
} from "./load-clients.ts";
import { noTrack, Place, upload, withApp } from "./stores.ts";

let postgres: Promise<PostgresServer> | undefined;
const server = () => {
  postgres ??= PostgresServer.shared();
  return postgres;
};
after(async () => (await postgres)?.close());

for (const engine of ["sqlite", "postgres"] as const)
  describe(`backups of ${engine} under load`, () => {
    it("restore to one point in time, with every file", () =>
      Place.run(server, async (place) => {
        const random = randomNumbers(newSeed(`backups of ${engine} under load`));
        const source = await place.config(engine);
        await withApp(source, async (app) => {
          await defineCollections(app);
          const clients = Array.from({ length: clientCount }, (_, n) => new Client(app, n));
          for (let attempt = 0; attempt < runs(1, 50); attempt++) {
            let isStopped = false;
            const work = Promise.all(clients.map((client) => client.work(() => isStopped)));
            await untilBegun(clients, random() * 100);
            const before = copyOf(clients);
            const { lost } = await place.backUp(source).finally(() => {
              isStopped = true;
            });
            const later = copyOf(clients);
            await work;
            assert.deepEqual(lost, []);
            const target = await place.config(engine);
            await place.restore(target);
            await withApp(target, (restored) => verify(restored, before, later), app.admin);
          }
        });
      }));

    it("hold writes when files are deleted during every snapshot", () =>
      Place.run(server, async (place) => {
        const source = await place.config(engine);
        await withApp(source, async (app) => {
          for (let n = 0; n < 2; n++) await upload(app, `content ${n}`);
          const opened = openSource(source);
          let snapshots = 0;
          const deleting: TransferSource = {
            holdWrites: () => opened.source.holdWrites(),
            async snapshot() {
              // In the fourth one writes wait.
              if (++snapshots > 3) return opened.source.snapshot();
              const id = await upload(app, `new in snapshot ${snapshots}`);
              const snapshot = await opened.source.snapshot();
              await app.request(`/docs/${id}`, { method: "DELETE" });
              return snapshot;
            },
          };
          const to = place.path("backups");
          const storeId = (await opened.source.snapshot().then(closed)).store.id;
          const writer = await createBackupFolder(to, storeId);
          const made = await makeBackup({
            ...{ source: deleting, files: opened.files, writer, known: new Map() },
            ...{ version: "0.0.0", number: 1, track: noTrack },
          });
          await writer.close();
          assert.equal(snapshots, 4);
          assert.deepEqual(made.lost, []);
          assert.equal(made.record.files, 2);
          assert.ok(made.heldMs !== undefined);
          const target = await place.config(engine);
          await place.restore(target);
          await withApp(
            target,
            async (restored) => assert.equal(await restored.total("docs"), 2),
            app.admin,
          );
        });
      }));
  });

async function closed(snapshot: Snapshot): Promise<Snapshot> {
  await snapshot.close();
  return snapshot;
}
