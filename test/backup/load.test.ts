// Backups that are taken while clients write, upload and delete: each restores to one point in time.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { makeBackup } from "../../src/backup/backup.ts";
import { createBackupFolder } from "../../src/backup/folder.ts";
import { openSource } from "../../src/server/open-transfer.ts";
import type { Snapshot, Source } from "../../src/store/transfer/transfer.ts";
import type { TestApp } from "../http/app.ts";
import { PostgresServer } from "../postgres-server.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { type EngineName, noTrack, Place, upload, withApp } from "./stores.ts";

let postgres: Promise<PostgresServer> | undefined;
const server = () => {
  postgres ??= PostgresServer.shared();
  return postgres;
};
after(async () => (await postgres)?.close());

const clientCount = 4;

/** What a client has done so far, one after the other. */
interface Journal {
  begun: number;
  acknowledged: number;
}

/** The content says which client wrote it, and when. */
const contentOf = (client: number, step: number) =>
  `${client}-${step} `.repeat(1 + (step % 50) * 20);

/** Every third step creates a resource, uploads a file, or deletes the one before the last. */
class Client {
  readonly journal: Journal = { begun: 0, acknowledged: 0 };
  readonly #app: TestApp;
  readonly #number: number;
  readonly #docs = new Map<number, string>();

  constructor(app: TestApp, number: number) {
    this.#app = app;
    this.#number = number;
  }

  async work(isStopped: () => boolean): Promise<void> {
    while (!isStopped()) {
      const step = this.journal.begun++;
      if (step % 3 === 0) await this.#app.post("items", { client: this.#number, step });
      if (step % 3 === 1) await this.#upload(step);
      if (step % 3 === 2) await this.#delete(step - 4);
      this.journal.acknowledged++;
    }
  }

  async #upload(step: number): Promise<void> {
    const form = new FormData();
    form.append("client", String(this.#number));
    form.append("step", String(step));
    form.append("file", new Blob([contentOf(this.#number, step)]), "a.txt");
    const response = await this.#app.request("/docs", { method: "POST", body: form });
    assert.equal(response.status, 201);
    this.#docs.set(step, ((await response.json()) as { id: string }).id);
  }

  async #delete(step: number): Promise<void> {
    const id = this.#docs.get(step);
    if (id === undefined) return;
    const { status } = await this.#app.request(`/docs/${id}`, { method: "DELETE" });
    assert.equal(status, 204);
  }
}

/** The steps whose items and files exist after so many steps. */
function stateAfter(steps: number): { items: readonly number[]; docs: readonly number[] } {
  const all = Array.from({ length: steps }, (_, step) => step);
  const deleted = new Set(all.filter((step) => step % 3 === 2).map((step) => step - 4));
  return {
    items: all.filter((step) => step % 3 === 0),
    docs: all.filter((step) => step % 3 === 1 && !deleted.has(step)),
  };
}

interface Entry {
  readonly id: string;
  readonly client: number | string;
  readonly step: number | string;
}

async function readAll(app: TestApp, collection: string): Promise<readonly Entry[]> {
  const response = await app.request(`/${collection}`, {
    headers: { accept: "application/x-ndjson" },
  });
  const text = (await response.text()).trim();
  return text === "" ? [] : text.split("\n").map((line) => JSON.parse(line) as Entry);
}

/** Each client's state is that after a number of its steps, which the backup must have. */
async function verify(
  app: TestApp,
  before: readonly Journal[],
  later: readonly Journal[],
): Promise<void> {
  const [items, docs] = [await readAll(app, "items"), await readAll(app, "docs")];
  for (const [client, { acknowledged }] of before.entries()) {
    const stepsOf = (entries: readonly Entry[]) =>
      entries.filter((each) => Number(each.client) === client).map(({ step }) => Number(step));
    const found = { items: stepsOf(items), docs: stepsOf(docs) };
    const most = later[client]?.begun ?? 0;
    const possible = Array.from({ length: most - acknowledged + 1 }, (_, n) => acknowledged + n);
    const isState = (steps: number) => JSON.stringify(stateAfter(steps)) === JSON.stringify(found);
    assert.ok(
      possible.some(isState),
      `client ${client}: ${JSON.stringify({ found, acknowledged, most })}`,
    );
  }
  for (const { id, client, step } of docs) {
    const bytes = await app.request(`/docs/${id}/file`);
    assert.equal(await bytes.text(), contentOf(Number(client), Number(step)));
  }
}

const copyOf = (clients: readonly Client[]): readonly Journal[] =>
  clients.map(({ journal }) => ({ ...journal }));

for (const engine of storesHere<EngineName>("bun", ["sqlite", "postgres"]))
  describe(`backups of ${engine} under load`, () => {
    it("restore to one point in time, with every file", () =>
      Place.run(server, async (place) => {
        const random = randomNumbers(newSeed(`backups of ${engine} under load`));
        const source = await place.config(engine);
        await withApp(source, async (app) => {
          for (const name of ["items", "docs"])
            await app.request(`/-/collections/${name}`, {
              method: "PUT",
              body: "{}",
              headers: { "content-type": "application/json" },
            });
          const clients = Array.from({ length: clientCount }, (_, n) => new Client(app, n));
          for (let attempt = 0; attempt < runs(2, 50); attempt++) {
            let isStopped = false;
            const work = Promise.all(clients.map((client) => client.work(() => isStopped)));
            await sleep(random() * 200);
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
          const deleting: Source = {
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
            ...{ version: "0.0.0", track: noTrack },
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
