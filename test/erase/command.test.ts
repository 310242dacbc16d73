// The command `erase` on both engines: subjects, dry runs, questions, what it refuses, and what it waits for.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import postgres from "postgres";
import { newSecret } from "../../src/model/secret.ts";
import { PostgresServer } from "../postgres-server.ts";
import { commandLine, run, runKilledAt, type ServerProcess, sends, start } from "../process.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { itLong, storesHere } from "../short-run.ts";
import { Client, History, tracesIn } from "./history.ts";

const adminToken = newSecret();
const environment = { RESTANTE_ADMIN_TOKEN: adminToken };

/** All rows of all tables that contain the beginning or the end of a secret, in any case. */
async function rowsWith(url: string, secrets: readonly string[]): Promise<readonly string[]> {
  const parts = secrets.flatMap((secret) => [secret.slice(1, 9), secret.slice(-8)]);
  return withSql(url, async (sql) => {
    const tables = await sql`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`;
    const found = tables.map(
      ({ tablename }) => sql`
        SELECT ${tablename} AS name FROM ${sql(tablename)} AS one
        WHERE one::text ILIKE ANY (${parts.map((part) => `%${part}%`)})`,
    );
    return (await Promise.all(found)).flat().map(({ name }) => name);
  });
}

/** The tables, indexes and TOAST tables whose files contain a secret that is stored as it is. */
const filesWith = (url: string, secrets: readonly string[]): Promise<readonly string[]> =>
  withSql(url, async (sql) => {
    await sql`CHECKPOINT`;
    const found = await sql`
      SELECT DISTINCT relname FROM pg_class, unnest(${[...secrets]}::text[]) AS secret
      WHERE relkind IN ('r', 'i', 't') AND relpersistence = 'p' AND relfilenode <> 0
        AND oid >= 16384
        AND position(convert_to(secret, 'UTF8')
          IN pg_read_binary_file(pg_relation_filepath(oid))) > 0`;
    return found.map(({ relname }) => relname);
  });

async function withSql<T>(url: string, act: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return await act(sql);
  } finally {
    await sql.end();
  }
}

for (const engine of storesHere("postgres", ["sqlite", "postgres"] as const))
  describe(`restante erase on ${engine}`, () => {
    let folder: string;
    let url = "";
    let database: PostgresServer | undefined;
    let server: ServerProcess;
    let client: Client;
    let target: readonly string[];

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), "restante-"));
      database = engine === "postgres" ? await PostgresServer.shared() : undefined;
      url = (await database?.preparedDatabase()) ?? "";
      target = ["--data", join(folder, "data"), ...(url === "" ? [] : ["--store", url])];
      const flags = [...target, "--rate-limit-per-address", "0"];
      server = await start(flags, { cwd: folder, environment });
      client = new Client(server.url, adminToken);
      await new History(client, randomNumbers(1)).define();
    });
    after(async () => {
      server.signal("SIGTERM");
      await server.ended;
      if (url !== "") await database?.drop(url);
      await database?.close();
      await rm(folder, { recursive: true, force: true });
    });

    const erase = (...args: readonly string[]) =>
      run(["erase", ...target, ...args], { cwd: folder, environment });
    const traces = async (secrets: readonly string[]) => [
      ...(await tracesIn(folder, secrets)),
      ...(url === "" ? [] : await rowsWith(url, secrets)),
    ];

    it("leaves nothing of a subject", async () => {
      const history = new History(client, randomNumbers(newSeed(`erase a subject on ${engine}`)));
      const subject = history.secret();
      const request = { name: history.secret(), subject, scopes: ["notes:*"], expiresAt: null };
      const { token } = await client.must("POST", "/-/tokens", request);
      const own = client.as(token);
      await client.must("POST", "/notes", { text: "of another" });
      for (let n = 0; n < 5; n++) {
        const headers = { "idempotency-key": history.secret() };
        const { id } = await own.must("POST", "/notes", { text: history.secret() }, headers);
        if (n === 0) await own.must("DELETE", `/notes/${id}`);
        if (n === 1) await client.must("PATCH", `/notes/${id}`, { text: "taken", owner: "bob" });
      }
      const asked = await erase("--subject", subject);
      assert.equal(asked.code, 1);
      assert.match(
        asked.stderr,
        /^Would erase in notes: .*\nWould erase 1 token\.\nNothing was erased\. It needs --yes\.$/m,
      );
      const dry = await erase("--subject", subject, "--dry-run", "--json");
      const counted = JSON.parse(dry.stdout);
      assert.deepEqual([counted.isDryRun, counted.tokens, counted.remains], [true, 1, []]);
      assert.equal((await own.send("GET", "/notes")).status, 200);
      const done = await erase("--subject", subject, "--yes", "--json");
      assert.equal(done.code, 0, done.stderr);
      const erased = JSON.parse(done.stdout);
      assert.deepEqual(erased, { ...counted, isDryRun: false, remains: erased.remains });
      assert.equal(erased.remains.length, 2);
      assert.deepEqual(await traces(history.secrets), []);
      assert.equal((await own.send("GET", "/notes")).status, 401);
      const again = await erase("--subject", subject, "--yes");
      assert.equal(again.code, 1);
      assert.match(
        again.stderr,
        /There was nothing of .*: it never existed, or it was erased before/,
      );
      // It writes no file anew on SQLite.
      assert.equal(/^rewrite/m.test(again.stderr), engine !== "sqlite", again.stderr);
    });

    it("erases what is left of a resource that was deleted", async () => {
      await client.must("PUT", "/things/gone-8d7f6a5e", { n: 1 });
      await client.must("DELETE", "/things/gone-8d7f6a5e");
      const { code, stdout } = await erase("/things/gone-8d7f6a5e");
      assert.equal(code, 0);
      assert.match(stdout, /^Erased in things: 1 removal\.$/m);
      assert.deepEqual(await traces(["gone-8d7f6a5e"]), []);
    });

    it("erases nothing when something refers to it, and says what", async () => {
      const references = { of: { collection: "things", onDelete: "restrict" } };
      await client.must("PUT", "/-/collections/parts", { references });
      await client.must("PUT", "/things/held", { n: 1 });
      await client.must("PUT", "/parts/holder", { of: "held" });
      const { code, stderr } = await erase("/things/held");
      assert.equal(code, 1);
      assert.match(
        stderr,
        /^Nothing was erased: Other resources refer to this one: \/parts\/holder\./,
      );
      assert.equal((await client.send("GET", "/things/held")).status, 200);
      assert.ok(!existsSync(join(folder, "data", "restante.erasing")));
      const both = await erase("/things/held", "/parts/holder");
      assert.equal(both.code, 0, both.stderr);
    });

    it("says what never existed, and refuses wrong usage", async () => {
      const missing = await erase("/things/never", "/nowhere/a");
      assert.equal(missing.code, 1);
      assert.match(missing.stderr, /There was nothing of \/things\/never, \/nowhere\/a: /);
      for (const args of [[], ["things/a"], ["/things"], ["/things/a", "--subject", "ann"]])
        assert.equal((await erase(...args)).code, 2, args.join(" "));
      assert.equal((await erase("/things/a", "--wait", "long")).code, 2);
    });

    it("waits for readers, says what is left, and finishes when it runs again", async () => {
      await client.must("PUT", "/things/read-1c2d3e4f", { n: 1 });
      const release = await (engine === "sqlite" ? readFile() : readRows());
      const blocked = await erase("/things/read-1c2d3e4f", "--wait", "0s");
      assert.equal(blocked.code, 1);
      assert.match(
        blocked.stderr,
        /still needs what was erased: waiting for it\.\nIt is erased for everyone, but .* again to finish/,
      );
      // The reader is in this process.
      if (engine === "sqlite" && existsSync("/proc/locks"))
        assert.ok(blocked.stderr.includes(`(process ${process.pid}) needs them`), blocked.stderr);
      assert.equal((await client.send("GET", "/things/read-1c2d3e4f")).status, 404);
      await release();
      const { code, stderr } = await erase("/things/read-1c2d3e4f");
      // Postgres has no folder that tells of the first run.
      assert.equal(code, engine === "sqlite" ? 0 : 1, stderr);
      assert.deepEqual(await traces(["read-1c2d3e4f"]), []);
    });

    itLong("goes on after it was killed beside a server", async () => {
      const random = randomNumbers(newSeed(`erase, killed on ${engine}`));
      const history = new History(client, random);
      await history.run(10);
      const args = ["erase", ...target, `/people/${history.id}`];
      for (let n = 0; n < runs(1, 30); n++) {
        await runKilledAt(sends, Math.ceil(6 * random()), args, { cwd: folder });
      }
      const { stderr } = await erase(`/people/${history.id}`);
      // One of them can have ended in time. Then there is nothing left to do. The connection of the killed
      // one can still be a reader for a moment.
      assert.match(
        stderr,
        /^(?:A backup, .*waiting for it\.\n)?rewrite: .*\n(?:There was nothing of .*\n)?$|^There was nothing of .*\n$/,
      );
      assert.deepEqual(await traces(history.secrets), []);
      assert.ok((await client.idsOf("links")).isSupersetOf(history.links));
    });

    /** A reader of the database; the function that is returned ends it. */
    async function readFile(): Promise<() => Promise<void>> {
      const reader = new DatabaseSync(join(folder, "data", "restante.db"), { readOnly: true });
      reader.exec("BEGIN; SELECT count(*) FROM resources");
      return async () => reader.close();
    }

    async function readRows(): Promise<() => Promise<void>> {
      const sql = postgres(url, { max: 1 });
      await sql.unsafe("BEGIN ISOLATION LEVEL REPEATABLE READ");
      await sql`SELECT count(*) FROM resources`;
      return () => sql.end();
    }

    const hasScript =
      process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
    it("asks on a terminal, and shows how far it is", { skip: !hasScript }, async () => {
      await client.must("POST", "/-/tokens", {
        name: "t",
        subject: "eve",
        scopes: ["notes:read"],
        expiresAt: null,
      });
      for (const [answer, last] of [
        ["no", /Nothing was erased\./],
        ["yes", /rewrite: .* 100%|rewrite: .* in [\s\S]*Erased 1 token\./],
      ] as const) {
        const words = [...commandLine, "erase", ...target, "--subject", "eve"];
        const command = words.map((word) => `'${word}'`).join(" ");
        const env = { PATH: process.env.PATH, ...environment };
        const child = spawn("script", ["-qec", command, "/dev/null"], { cwd: folder, env });
        let text = "";
        child.stdout.setEncoding("utf8").on("data", (chunk) => {
          const isAsked = text.includes("Type yes: ");
          text += chunk;
          if (!isAsked && text.includes("Type yes: ")) child.stdin.write(`${answer}\n`);
        });
        const [code] = await once(child, "close");
        assert.match(text, last);
        assert.equal(code, answer === "yes" ? 0 : 1, text);
      }
    });

    if (engine === "postgres")
      it("leaves no row, and with --full nothing in the files of the tables", async () => {
        const history = new History(client, randomNumbers(newSeed("erase on Postgres")));
        await history.run(runs(15, 300));
        assert.ok((await filesWith(url, history.secrets)).length > 3);
        const { code, stdout, stderr } = await erase(`/people/${history.id}`, "--full");
        assert.equal(code, 0, stderr);
        assert.match(
          stdout,
          /^No row of postgres:\/\/\S+ has it\. Postgres still has bytes of it in WAL/m,
        );
        assert.deepEqual(await traces(history.secrets), []);
        assert.deepEqual(await filesWith(url, history.secrets), []);
        assert.ok((await client.idsOf("people")).isSupersetOf(history.people));
      });
  });
