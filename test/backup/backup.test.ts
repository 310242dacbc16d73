// Backups and restores on both engines: everything comes back, and damaged backups change nothing.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { after, describe, it } from "node:test";
import { InvalidBackup } from "../../src/backup/manifest.ts";
import { leasesName } from "../../src/model/system-collections.ts";
import { backUp, checkOnly } from "../../src/server/backups.ts";
import { CannotLoad } from "../../src/store/transfer/transfer.ts";
import type { TestApp } from "../http/app.ts";
import type { Document } from "../http/openapi-document.ts";
import { PostgresServer } from "../postgres-server.ts";
import { itOn } from "../short-run.ts";
import { describeApp, fill, key, noTrack, Place, upload, withApp } from "./stores.ts";

let postgres: Promise<PostgresServer> | undefined;
const server = () => {
  postgres ??= PostgresServer.shared();
  return postgres;
};
after(async () => (await postgres)?.close());

const inPlace = (test: (place: Place) => Promise<void>) => () => Place.run(server, test);

const engines = ["sqlite", "postgres"] as const;

const position = async (app: TestApp): Promise<string> => {
  const response = await app.request("/people?since=0&limit=1000");
  return ((await response.json()) as { next: string }).next;
};

/** What the version of the contract says about when the newest definition was set. */
async function definedAt(app: TestApp): Promise<number> {
  const { info } = (await (await app.request("/-/openapi.json")).json()) as Document;
  return Number(info.version.split(".")[1]);
}

const checkAt = (from: string) => checkOnly({ from, isOverwriting: false, track: noTrack });

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith("restante."))
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
}

/** A resource of the server's own data. */
const ownResource = (collection: string) =>
  ({ kind: "put", collection, id: "a", fields: "{}", at: 1, expect: "anything" }) as const;

for (const engine of engines) {
  const it = itOn(engine);
  const other = engine === "sqlite" ? "postgres" : "sqlite";
  describe(`a backup of ${engine}`, () => {
    it(
      "has the server's own data but for what is volatile, which is empty after a restore",
      inPlace(async (place) => {
        const source = await place.config(engine);
        const [own, leases] = [ownResource("-kept"), ownResource(leasesName)];
        await withApp(source, ({ writer }) =>
          writer.commit([
            { ...own, createsCollection: true },
            { ...leases, createsCollection: true },
          ]),
        );
        const { record } = await place.backUp(source);
        assert.deepEqual([record.collections, record.resources], [1, 1]);
        const target = await place.config(engine);
        await withApp(target, ({ writer }) =>
          writer.commit([{ ...leases, createsCollection: true }]),
        );
        await place.restore(target, { isOverwriting: true });
        await withApp(target, async ({ writer }) => {
          const outcomes = await writer.commit([own, leases]);
          assert.deepEqual(
            outcomes.map(({ kind }) => kind),
            ["replaced", "missing"],
          );
        });
      }),
    );

    it(
      "restores to either engine with all that clients see, and other feed positions",
      inPlace(async (place) => {
        const source = await place.config(engine);
        const [secrets, seen, since, definedBefore] = await withApp(source, async (app) => {
          const filled = await fill(app);
          const next = await position(app);
          const description = await describeApp(app, filled);
          // Beside the running app.
          const made = await place.backUp(source);
          assert.deepEqual(made.lost, []);
          assert.equal(made.record.files, 5);
          return [filled, description, next, await definedAt(app)] as const;
        });
        const { record } = await checkAt(place.path("backups"));
        assert.equal(record.resources, 25 + 1 + 3 + 1 + 5);
        for (const to of [engine, other] as const) {
          const target = await place.config(to);
          const { resources, files } = await place.restore(target);
          assert.deepEqual([resources, files], [record.resources, 5]);
          await withApp(
            target,
            async (app) => {
              assert.deepEqual(await describeApp(app, secrets), seen);
              assert.ok((await definedAt(app)) > definedBefore);
              assert.equal((await app.request(`/people?since=${since}`)).status, 410);
              const again = await app.request("/orders", {
                method: "POST",
                headers: { "content-type": "application/json", ...key },
                body: '{"n":1}',
              });
              assert.equal(again.status, 201);
              assert.equal(await app.total("orders"), 1);
              const clash = await app.request("/people", {
                method: "POST",
                headers: { "content-type": "application/json" },
                body: '{"name":"person 39 ä😀"}',
              });
              assert.equal(clash.status, 409);
            },
            secrets.admin,
          );
          await assert.rejects(place.restore(target), CannotLoad);
        }
      }),
    );

    it(
      "is incremental, restores any of its states, and deletes old ones",
      inPlace(async (place) => {
        const source = await place.config(engine);
        const folder = place.path("backups");
        const times: string[] = [];
        const admin = await withApp(source, async (app) => {
          for (let n = 0; n < 3; n++) {
            await app.post("things", { n });
            await upload(app, `${n}`.repeat(2_000));
            const { record } = await place.backUp(source);
            times.push(record.createdAt);
          }
          const before = (await filesIn(folder)).length;
          const { record } = await place.backUp(source);
          // Only the time at which the admin token was last used can have changed.
          assert.ok((await filesIn(folder)).length <= before + 3);
          assert.ok(record.writtenBytes < 2_000);
          return app.admin;
        });
        const target = await place.config(engine);
        await place.restore(target, { at: Date.parse(times[1] ?? "") });
        await withApp(target, async (app) => assert.equal(await app.total("docs"), 2), admin);
        // What other programs put there is not Restante's to delete.
        const others = ["objects/.DS_Store", "objects/ab/notes.txt", "objects/more/a/b.txt"];
        for (const name of others) {
          await mkdir(dirname(join(folder, name)), { recursive: true });
          await writeFile(join(folder, name), "mine");
        }
        // As with a clock that is ahead. The oldest half goes each time, and the newest stays.
        for (const backups of [3, 2, 1]) {
          const { pruned } = await place.backUp(source, folder, 0);
          assert.equal(pruned.backups, backups);
          assert.equal((await checkAt(folder)).record.resources, 6);
        }
        const { record } = await checkAt(folder);
        assert.equal(record.resources, 6);
        for (const name of others)
          assert.equal(await readFile(join(folder, name), "utf8"), "mine", name);
        await assert.rejects(
          place.restore(target, { at: 0, isOverwriting: true }),
          /the oldest backup is of/,
        );
      }),
    );

    it(
      "can be one archive file",
      inPlace(async (place) => {
        const source = await place.config(engine);
        const [secrets, seen] = await withApp(source, async (app) => {
          const filled = await fill(app);
          for (const suffix of ["tar", "tar.gz", "tar.zst"])
            await place.backUp(source, place.path(`backup.${suffix}`));
          return [filled, await describeApp(app, filled)] as const;
        });
        for (const suffix of ["tar", "tar.gz", "tar.zst"])
          await checkAt(place.path(`backup.${suffix}`));
        const archive = place.path("backup.tar.zst");
        await assert.rejects(place.backUp(source, archive), /exists: choose another name/);
        const target = await place.config(engine);
        await place.restore(target, {}, archive);
        await withApp(
          target,
          async (app) => assert.deepEqual(await describeApp(app, secrets), seen),
          secrets.admin,
        );
        const { size } = await stat(archive);
        for (const length of [0, 3, 600, size >> 1]) {
          await cp(archive, place.path("cut.tar.zst"));
          await truncate(place.path("cut.tar.zst"), length);
          const another = await place.config("sqlite");
          await assert.rejects(
            place.restore(another, {}, place.path("cut.tar.zst")),
            InvalidBackup,
          );
          assert.ok(!existsSync(another.data), "left something");
        }
      }),
    );

    it(
      "restores one collection into a store that is there",
      inPlace(async (place) => {
        const source = await place.config(engine);
        const admin = await withApp(source, async (app) => {
          await fill(app);
          await place.backUp(source);
          return app.admin;
        });
        const target = await place.config(engine);
        await withApp(
          target,
          (app) => app.post("orders", { mine: true }).then(() => undefined),
          admin,
        );
        await assert.rejects(
          place.restore(target, { collections: ["books"] }),
          /books refers to the collection people, which does not exist there/,
        );
        await place.restore(target, { collections: ["people", "docs"] });
        await place.restore(target, { collections: ["books"] });
        await assert.rejects(place.restore(target, { collections: ["orders"] }), /orders exists/);
        await assert.rejects(
          place.restore(target, { collections: ["none"] }),
          /has no collection none/,
        );
        const orders = async (app: TestApp) => (await app.request("/orders")).json();
        await withApp(
          target,
          async (app) => {
            assert.match(JSON.stringify(await orders(app)), /mine/);
            assert.equal(await app.total("people"), 25);
            const page = (await (await app.request("/docs")).json()) as { data: { id: string }[] };
            const bytes = await app.request(`/docs/${page.data[4]?.id}/file`);
            assert.equal((await bytes.text()).length, 4_001);
            // The reference of the restored book holds.
            const found = (await (await app.request("/books")).json()) as {
              data: { by: string }[];
            };
            await app.request(`/people/${found.data[0]?.by}`, { method: "DELETE" });
            assert.equal(await app.total("books"), 0);
          },
          admin,
        );
        await place.restore(target, { collections: ["orders"], isOverwriting: true });
        await withApp(
          target,
          async (app) => assert.doesNotMatch(JSON.stringify(await orders(app)), /mine/),
          admin,
        );
      }),
    );

    it(
      "replaces a whole store with --overwrite only",
      inPlace(async (place) => {
        const source = await place.config(engine);
        const [secrets, seen] = await withApp(source, async (app) => {
          const filled = await fill(app);
          await place.backUp(source);
          return [filled, await describeApp(app, filled)] as const;
        });
        await withApp(source, (app) => app.post("later", {}).then(() => undefined), secrets.admin);
        await assert.rejects(place.restore(source), /--overwrite/);
        await place.restore(source, { isOverwriting: true });
        await withApp(
          source,
          async (app) => {
            assert.deepEqual(await describeApp(app, secrets), seen);
            assert.equal((await app.request("/later")).status, 404);
            await app.post("later", {});
          },
          secrets.admin,
        );
      }),
    );

    it(
      "names files that the store has lost, and is complete otherwise",
      inPlace(async (place) => {
        const source = await place.config(engine);
        const admin = await withApp(source, async (app) => {
          await upload(app, "kept");
          const id = await upload(app, "lost and gone");
          await upload(app, "changed on disk");
          const files = join(source.data, "files");
          for (const name of await filesIn(files)) {
            const text = await readFile(join(files, name), "utf8");
            if (text === "lost and gone") await rm(join(files, name));
            if (text === "changed on disk") await writeFile(join(files, name), "changed");
          }
          const { lost, record } = await place.backUp(source);
          assert.equal(record.files, 1);
          assert.equal(lost.length, 2);
          assert.deepEqual(
            lost.map((file) => `${file.collection}/${file.name}`),
            ["docs/file", "docs/file"],
          );
          assert.equal(lost[0]?.id, id);
          return app.admin;
        });
        const target = await place.config(engine);
        await place.restore(target);
        await withApp(target, async (app) => assert.equal(await app.total("docs"), 3), admin);
      }),
    );
  });
}

describe("the newest backup", () => {
  it(
    "is the last one that was made, also after the clock was set back",
    inPlace(async (place) => {
      const source = await place.config("sqlite");
      const target = await place.config("sqlite");
      const realNow = Date.now;
      const admin = await withApp(source, async (app) => {
        await app.post("things", { n: 1 });
        Date.now = () => realNow() + 365 * 24 * 3_600_000;
        await place.backUp(source).finally(() => {
          Date.now = realNow;
        });
        await app.post("things", { n: 2 });
        await place.backUp(source, undefined, 1);
        return app.admin;
      });
      await place.restore(target);
      await withApp(target, async (app) => assert.equal(await app.total("things"), 2), admin);
    }),
  );
});

describe("a damaged backup", () => {
  it(
    "is refused whatever is missing or changed, and nothing is left",
    inPlace(async (place) => {
      const source = await place.config("sqlite");
      await withApp(source, async (app) => {
        await upload(app, "some bytes");
        await app.post("things", { n: 1 });
        await place.backUp(source);
      });
      const folder = place.path("backups");
      const names = await filesIn(folder);
      assert.ok(names.length >= 6);
      const change = async (name: string, act: (path: string) => Promise<void>) => {
        const path = join(folder, name);
        const content = await readFile(path);
        await act(path);
        const target = await place.config("sqlite");
        await assert.rejects(place.restore(target), InvalidBackup, name);
        await assert.rejects(checkAt(folder), InvalidBackup, name);
        assert.ok(!existsSync(target.data), `left something: ${name}`);
        assert.ok(!existsSync(`${target.data}.restoring`), `left something: ${name}`);
        await writeFile(path, content);
      };
      for (const name of names) {
        await change(name, async (path) => truncate(path, (await stat(path)).size >> 1));
        await change(name, (path) => rm(path));
        const isObject = name.startsWith("objects");
        if (isObject)
          await change(name, async (path) => {
            const content = await readFile(path);
            content[content.length >> 1] = (content[content.length >> 1] ?? 0) ^ 1;
            await writeFile(path, content);
          });
      }
      await checkAt(folder);
    }),
  );

  it(
    "is mended by the next one with --verify",
    inPlace(async (place) => {
      const source = await place.config("sqlite");
      await withApp(source, async (app) => {
        await upload(app, "some bytes");
        await app.post("things", { n: 1 });
      });
      await place.backUp(source);
      const folder = place.path("backups");
      const objects = (await filesIn(folder)).filter((name) => name.startsWith("objects"));
      for (const name of objects) await truncate(join(folder, name), 1);
      // The manifest of the earlier backup is not needed to make another one.
      await backUp(source, { to: folder, isVerifying: true, track: noTrack });
      await checkAt(folder);
    }),
  );

  it(
    "and other folders and files are recognised",
    inPlace(async (place) => {
      const target = await place.config("sqlite");
      const source = await place.config("sqlite");
      await withApp(source, (app) => app.post("things", {}).then(() => undefined));
      const foreign = place.path("foreign");
      await mkdir(foreign);
      await writeFile(join(foreign, "notes.txt"), "mine");
      await assert.rejects(place.restore(target, {}, foreign), /is not a folder of backups/);
      await assert.rejects(place.backUp(source, foreign), /is not a folder of backups/);
      await assert.rejects(place.restore(target, {}, place.path("none")), /there is no backup at/);
      await writeFile(place.path("foreign.tar"), "no archive".repeat(1_000));
      await assert.rejects(place.restore(target, {}, place.path("foreign.tar")), InvalidBackup);
      await place.backUp(source, place.path("newer"));
      await writeFile(join(place.path("newer"), "restante-backup.json"), '{"format":99}');
      await assert.rejects(place.restore(target, {}, place.path("newer")), /update Restante/);
      await writeFile(join(place.path("newer"), "restante-backup.json"), '{"format":1}');
      const older =
        /before the first release \(its format is 1, this one reads 2\): use the version/;
      await assert.rejects(place.restore(target, {}, place.path("newer")), older);
      await assert.rejects(place.backUp(source, place.path("newer")), older);
      const other = await place.config("sqlite");
      await withApp(other, (app) => app.post("things", {}).then(() => undefined));
      await place.backUp(source);
      await assert.rejects(place.backUp(other), /has the backups of another store/);
      await assert.rejects(place.backUp(source, join(source.data, "backups")), /is within/);
      assert.ok(!existsSync(dirname(join(target.data, "x"))));
    }),
  );

  it(
    "goes on after one that was killed before anything was complete",
    inPlace(async (place) => {
      const source = await place.config("sqlite");
      await withApp(source, (app) => app.post("things", {}).then(() => undefined));
      const to = place.path("killed");
      const left = join(to, "restante.incoming");
      await mkdir(left, { recursive: true });
      await writeFile(join(left, "0123"), "half");
      await place.backUp(source, to);
      await checkAt(to);
      assert.ok(!existsSync(left));
    }),
  );
});
