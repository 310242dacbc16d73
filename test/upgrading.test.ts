// The real server and commands on migrated data, the way back that docs/upgrading.md shows, and data of other versions.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { version } from "../src/lib/program.ts";
import { hashSecret, newSecret } from "../src/model/secret.ts";
import { openFile } from "../src/store/sqlite/open.ts";
import { schemaVersion } from "../src/store/sqlite/schema.ts";
import { run, start } from "./process.ts";
import { create } from "./store/contract/change-helpers.ts";
import { makeOlder as makeOlderPostgres } from "./store/postgres/older-database.ts";
import { TestDatabases } from "./store/postgres/test-databases.ts";
import {
  change,
  contentOf,
  makeOlder,
  olderVersion,
  steps,
} from "./store/sqlite/older-database.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const secret = newSecret();

let cwd: string;
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-upgrading-"));
});
after(() => rm(cwd, { recursive: true }));

const formerName = `restante.former-${olderVersion}.db`;

/** A folder `data` of the made-up older version, in a folder of its own. */
async function makeFolder(name: string): Promise<string> {
  const folder = join(cwd, name);
  await mkdir(join(folder, "data"), { recursive: true });
  await makeOlder(join(folder, "data"));
  change(
    join(folder, "data"),
    `INSERT INTO tokens (id, hash, name, subject, scopes, created, roles)
     VALUES ('admin', '${hashSecret(secret)}', 'admin', 'admin', '["admin"]', 1, '[]')`,
  );
  return folder;
}

/** As the start of a version that has the steps. */
const migrate = (folder: string): Promise<unknown> =>
  openFile({ path: join(folder, "data") }, steps);

const startIn = (folder: string) => start(["--data", "data"], { cwd: folder });

type Running = Awaited<ReturnType<typeof startIn>>;

async function stop(running: Running, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  running.signal(signal);
  await running.ended;
}

const messagesOf = (running: Running): readonly string[] =>
  running
    .stdout()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).msg);

async function request(running: Running, method: string, path: string): Promise<Response> {
  const authorization = `Bearer ${secret}`;
  const headers = { authorization, "content-type": "application/json" };
  return fetch(running.url + path, { method, headers, ...(method === "PUT" && { body: "{}" }) });
}

/** The commands of a console block of a section of docs/upgrading.md. */
async function commandsOf(section: string, place = 0): Promise<string> {
  const page = await readFile(join(root, "docs/upgrading.md"), "utf8");
  const text = page.split(`\n## ${section}\n`)[1] ?? "";
  const block = [...text.matchAll(/```console\n(.*?)```/gs)][place]?.[1] ?? "";
  const commands = block.split("\n").filter((line) => line.startsWith("$ "));
  assert.ok(commands.length > 0, section);
  return commands.map((line) => line.slice(2)).join("\n");
}

describe("a migrated data folder", () => {
  it("says which versions open it, and keeps the former database until the next start", async () => {
    const folder = await makeFolder("twice");
    const former = join(folder, "data", formerName);
    const readVersionFile = () => readFile(join(folder, "data/restante.version"), "utf8");
    const before = contentOf(join(folder, "data/restante.db"));
    const createToken = async () => {
      const words = ["token", "create", "--data", "data", "--name", "n", "--scope", "admin"];
      assert.equal((await run(words, { cwd: folder })).code, 0);
      assert.deepEqual(contentOf(former), before);
    };
    await migrate(folder);
    // Only starts of the server count, not commands.
    await createToken();
    const first = await startIn(folder);
    const about = `A data folder of Restante.\nSchema version: ${schemaVersion}, written by Restante ${version}\nCan be opened by: Restante 0.2.0 and later\n`;
    assert.equal(
      await readVersionFile(),
      `${about}Before the migration: ${formerName}, until the next start\n`,
    );
    await stop(first);
    await createToken();
    const second = await startIn(folder);
    assert.ok(
      messagesOf(second).includes(`removed ${formerName}, the database before its migration`),
    );
    assert.ok(!existsSync(former));
    assert.ok(!existsSync(join(folder, "data/restante.started")));
    assert.equal(await readVersionFile(), about);
    assert.equal((await request(second, "GET", "/things/id-3")).status, 200);
    await stop(second);
  });

  it("goes back as the documentation shows, without what was written since", async () => {
    const folder = await makeFolder("back");
    const database = join(folder, "data/restante.db");
    const before = contentOf(database);
    await migrate(folder);
    const upgraded = await startIn(folder);
    assert.equal((await request(upgraded, "PUT", "/things/since")).status, 201);
    // Leaves a WAL, which must not be applied to the former database.
    await stop(upgraded, "SIGKILL");
    execFileSync("sh", ["-ec", await commandsOf("The way back")], { cwd: folder });
    assert.deepEqual(contentOf(database), before);
    await migrate(folder);
    const again = await startIn(folder);
    assert.equal((await request(again, "GET", "/things/since")).status, 404);
    assert.equal((await request(again, "GET", "/things/id-3")).status, 200);
    assert.ok(existsSync(join(folder, "data", formerName)));
    await stop(again);
  });
});

describe("data of another version", () => {
  const databases = new TestDatabases();

  const commands = {
    serve: ["serve", "--port", "0"],
    token: ["token", "list"],
    backup: ["backup", "--to", "backup"],
    export: ["export", "--to", "exported"],
    erase: ["erase", "/things/id-1", "--yes"],
  };

  /** Commands that open a store say why they do not, with exit code 1, and so does doctor. */
  async function assertRefused(
    folder: string,
    place: readonly string[],
    names: readonly (keyof typeof commands)[],
    why: RegExp,
    advice: RegExp,
  ) {
    for (const name of names) {
      const words = [...commands[name], ...place];
      const { code, stdout, stderr } = await run(words, { cwd: folder });
      assert.deepEqual([code, stdout], [1, ""], `${name}: ${stderr}`);
      assert.match(stderr, why, name);
    }
    const { code, stdout } = await run(["doctor", ...place], { cwd: folder });
    assert.equal(code, 1);
    assert.match(stdout, advice);
  }

  /** The names and the content of all files. */
  const filesIn = async (folder: string) =>
    Promise.all(
      (await readdir(folder))
        .sort()
        .map(async (name) => [name, await readFile(join(folder, name))]),
    );

  const older =
    /the database has the schema version \d+, and this is Restante \S+, which needs \d+: start with a new folder or database, or export the data with the version that wrote it\.?$/m;

  const startAnew = /Start with a new folder or database, or export the data with the version that/;

  it("that no step migrates is refused by every command, and nothing in the folder changes", async () => {
    const folder = await makeFolder("older");
    const before = await filesIn(join(folder, "data"));
    const all = ["serve", "token", "backup", "export", "erase"] as const;
    await assertRefused(folder, ["--data", "data"], all, older, startAnew);
    assert.deepEqual(await filesIn(join(folder, "data")), before);
  });

  it("that no step migrates is refused on Postgres, too", { timeout: 120_000 }, () =>
    databases.inEmpty(async (testDatabase) => {
      await makeOlderPostgres(testDatabase);
      const rows = () =>
        testDatabase.admin((sql) => sql`SELECT * FROM schema_version, resources ORDER BY seq`);
      const before = await rows();
      const folder = join(cwd, "postgres");
      await mkdir(folder);
      const place = ["--store", testDatabase.url, "--data", "data"];
      await assertRefused(folder, place, ["serve", "backup"], older, startAnew);
      assert.deepEqual(await rows(), before);
    }),
  );

  it("that is newer is refused with what is needed", async () => {
    const folder = await makeFolder("newer");
    change(
      join(folder, "data"),
      "PRAGMA user_version = 99; UPDATE written_by SET restante = '9.1', oldest = '9.0'",
    );
    await assertRefused(
      folder,
      ["--data", "data"],
      ["serve", "backup"],
      /the database was written by Restante 9\.1 \(its schema version is 99; this is Restante \S+, which supports up to \d+\): use Restante 9\.0 or later, or go back as docs\/upgrading\.md describes\.?$/m,
      /Use Restante 9\.0 or later, or go back as docs\/upgrading\.md describes\./,
    );
  });
});

const hasDump = spawnSync("pg_dump", ["--version"]).status === 0;

describe("a Postgres database", { skip: !hasDump && "pg_dump is missing" }, () => {
  const databases = new TestDatabases();

  it("goes back as the documentation shows", { timeout: 60_000 }, (context) =>
    databases.in(async (testDatabase) => {
      const env = { ...process.env, RESTANTE_STORE: testDatabase.url };
      const shell = (commands: string) =>
        execFileSync("sh", ["-ec", commands], { cwd, env, stdio: "pipe" });
      const tables = () =>
        testDatabase.admin(
          (sql) => sql`SELECT tablename FROM pg_tables WHERE schemaname = 'restante' ORDER BY 1`,
        );
      const collections = () => testDatabase.admin((sql) => sql`SELECT * FROM collections`);
      const commit = async (collection: string) => {
        const store = await testDatabase.open();
        await store.commit([create(collection)]);
        await store.close();
      };
      await commit("things");
      const before = [await tables(), await collections()];
      try {
        shell(await commandsOf("Postgres", 0));
      } catch (error) {
        if (/server version mismatch/.test(String(error)))
          return context.skip("pg_dump is older than the server");
        throw error;
      }
      await commit("since");
      await testDatabase.admin((sql) => sql`CREATE TABLE of_the_new_version (a int)`);
      shell(await commandsOf("Postgres", 1));
      assert.deepEqual([await tables(), await collections()], before);
      await (await testDatabase.open()).close();
    }),
  );
});
