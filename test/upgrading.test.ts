// Upgrading a data folder of 0.1.0 with the real server, and the way back that docs/upgrading.md shows.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { version } from "../src/lib/program.ts";
import { hashSecret, newSecret } from "../src/model/token.ts";
import { openPostgres } from "../src/store/postgres/postgres.ts";
import { schemaVersion } from "../src/store/sqlite/schema.ts";
import { PostgresServer } from "./postgres-server.ts";
import { run, start } from "./process.ts";
import { contentOf, makeOld } from "./store/sqlite/old-databases.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const secret = newSecret();

let cwd: string;
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-upgrading-"));
});
after(() => rm(cwd, { recursive: true }));

/** A folder `data` as 0.1.0 left it, in a folder of its own. */
async function makeFolder(name: string): Promise<string> {
  const folder = join(cwd, name);
  await mkdir(join(folder, "data"), { recursive: true });
  await makeOld(join(folder, "data"), 4);
  const database = new DatabaseSync(join(folder, "data/restante.db"));
  database
    .prepare("INSERT INTO tokens VALUES ('admin', ?, 'admin', '[\"admin\"]', 1, NULL, NULL, NULL)")
    .run(hashSecret(secret));
  database.close();
  return folder;
}

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

/** The code of 0.1.0, if the history of this repository is here. */
const release = "dae3d82";
const hasRelease = spawnSync("git", ["-C", root, "cat-file", "-e", release]).status === 0;

async function openWithFirstRelease(folder: string): Promise<string> {
  const code = join(cwd, "0.1.0");
  if (!existsSync(code)) {
    await mkdir(code);
    const archive = execFileSync("git", ["-C", root, "archive", release, "src", "package.json"], {
      maxBuffer: 2 ** 28,
    });
    execFileSync("tar", ["-x", "-C", code], { input: archive });
    await symlink(join(root, "node_modules"), join(code, "node_modules"));
    await writeFile(
      join(code, "open.ts"),
      `import { openSqlite } from "./src/store/sqlite/sqlite.ts";
       try {
         const store = await openSqlite({ path: process.argv[2] });
         console.log(JSON.stringify(store.collections().map(({ name, total }) => [name, total])));
         await store.close();
       } catch (error) {
         console.log(error.message);
       }`,
    );
  }
  const words = [join(code, "open.ts"), join(folder, "data")];
  return execFileSync(process.execPath, words, { encoding: "utf8" }).trim();
}

describe("a data folder of 0.1.0", () => {
  it("says which versions open it, and keeps the former database until the next start", async () => {
    const folder = await makeFolder("twice");
    const [database, former] = ["restante.db", "restante.former-4.db"].map((name) =>
      join(folder, "data", name),
    );
    const readVersionFile = () => readFile(join(folder, "data/restante.version"), "utf8");
    const before = contentOf(database ?? "");
    const createToken = async () => {
      const words = ["token", "create", "--data", "data", "--name", "n", "--scope", "admin"];
      assert.equal((await run(words, { cwd: folder })).code, 0);
      assert.deepEqual(contentOf(former ?? ""), before);
    };
    // Commands migrate, too, but only starts of the server count.
    await createToken();
    const first = await startIn(folder);
    const about = `A data folder of Restante.\nSchema version: ${schemaVersion}, written by Restante ${version}\nCan be opened by: Restante 0.2.0 and later\n`;
    assert.equal(
      await readVersionFile(),
      `${about}Before the migration: restante.former-4.db, until the next start\n`,
    );
    await stop(first);
    await createToken();
    const second = await startIn(folder);
    assert.ok(
      messagesOf(second).includes(
        "removed restante.former-4.db, the database before its migration",
      ),
    );
    assert.ok(!existsSync(former ?? ""));
    assert.ok(!existsSync(join(folder, "data/restante.started")));
    assert.equal(await readVersionFile(), about);
    assert.equal((await request(second, "GET", "/plain/id-3")).status, 200);
    await stop(second);
  });

  it("goes back as the documentation shows, without what was written since", async () => {
    const folder = await makeFolder("back");
    const database = join(folder, "data/restante.db");
    const before = contentOf(database);
    const upgraded = await startIn(folder);
    const kept = "restante.former-4.db is the previous one, kept until the next start";
    assert.ok(messagesOf(upgraded).includes(`the database is migrated; ${kept}`));
    assert.equal((await request(upgraded, "PUT", "/plain/since")).status, 201);
    // Leaves a WAL, which must not be applied to the former database.
    await stop(upgraded, "SIGKILL");
    execFileSync("sh", ["-ec", await commandsOf("The way back")], { cwd: folder });
    assert.deepEqual(contentOf(database), before);
    if (hasRelease)
      assert.equal(await openWithFirstRelease(folder), '[["books",6],["empty",0],["plain",12]]');
    const again = await startIn(folder);
    assert.equal((await request(again, "GET", "/plain/since")).status, 404);
    assert.equal((await request(again, "GET", "/plain/id-3")).status, 200);
    assert.ok(existsSync(join(folder, "data/restante.former-4.db")));
    await stop(again);
  });

  it("that a newer version has migrated is refused by every command, with what is needed", async () => {
    const folder = await makeFolder("newer");
    await stop(await startIn(folder));
    const database = new DatabaseSync(join(folder, "data/restante.db"));
    database.exec(
      "PRAGMA user_version = 99; UPDATE written_by SET restante = '9.1', oldest = '9.0'",
    );
    database.close();
    for (const command of [
      ["serve", "--port", "0"],
      ["token", "list"],
      ["backup", "--to", "backup"],
    ]) {
      const { code, stdout, stderr } = await run([...command, "--data", "data"], { cwd: folder });
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(
        stderr,
        /the database was written by Restante 9\.1 \(its schema version is 99; this is Restante \S+, which supports up to \d+\): use Restante 9\.0 or later, or go back as docs\/upgrading\.md describes\.?$/m,
      );
    }
    const { code, stdout } = await run(["doctor", "--data", "data"], { cwd: folder });
    assert.equal(code, 1);
    assert.match(
      stdout,
      /Use Restante 9\.0 or later, or go back as docs\/upgrading\.md describes\./,
    );
  });

  it("is refused by 0.1.0 after its migration, unchanged", {
    skip: !hasRelease && "the history is missing",
  }, async () => {
    const folder = await makeFolder("refused");
    await stop(await startIn(folder));
    const before = contentOf(join(folder, "data/restante.db"));
    assert.match(
      await openWithFirstRelease(folder),
      /Cannot open .*: the database was written by a newer Restante \(its form is \d+, this one knows up to 4\): update Restante, or restore an older backup/,
    );
    assert.deepEqual(contentOf(join(folder, "data/restante.db")), before);
  });
});

const hasDump = spawnSync("pg_dump", ["--version"]).status === 0;

describe("a Postgres database of 0.1.0", { skip: !hasDump && "pg_dump is missing" }, () => {
  it("goes back as the documentation shows", { timeout: 60_000 }, async (context) => {
    const server = await PostgresServer.shared();
    after(() => server.close());
    const url = await server.database();
    const dump = new URL("./store/postgres/version-4.sql", import.meta.url);
    const env = { ...process.env, RESTANTE_STORE: url };
    const shell = (commands: string) =>
      execFileSync("sh", ["-ec", commands], { cwd, env, stdio: "pipe" });
    const rows = () =>
      server.admin((sql) => sql`SELECT * FROM restante.resources ORDER BY 1, 2`, url);
    await server.admin(async (sql) => {
      await sql`SELECT set_config('search_path', 'restante', false)`;
      await sql.unsafe(await readFile(dump, "utf8")).simple();
    }, url);
    const before = await rows();
    try {
      shell(await commandsOf("Postgres", 0));
    } catch (error) {
      if (/server version mismatch/.test(String(error)))
        return context.skip("pg_dump is older than the server");
      throw error;
    }
    await (await openPostgres({ url })).close();
    assert.notDeepEqual(await rows(), before);
    shell(await commandsOf("Postgres", 1));
    assert.deepEqual(await rows(), before);
    const tables = await server.admin(
      (sql) => sql`SELECT tablename FROM pg_tables WHERE schemaname = 'restante' ORDER BY 1`,
      url,
    );
    assert.ok(!tables.some(({ tablename }) => tablename === "schema_version"));
    await (await openPostgres({ url })).close();
    await server.drop(url);
  });
});
