// The command `copy` as a process: beside a server, killed at any moment, on a full disk, watched on a terminal.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { hasDatabase } from "../../src/store/sqlite/open-loader.ts";
import { sqliteSource } from "../../src/store/sqlite/snapshot.ts";
import { sourceTableNames } from "../../src/store/transfer/source-tables.ts";
import { PostgresServer } from "../postgres-server.ts";
import {
  commandLine,
  firstToken,
  run,
  runKilledAt,
  runOnFullDisk,
  type ServerProcess,
  start,
} from "../process.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { isShort, itLong } from "../short-run.ts";
import { canInject } from "../store/sqlite/test-directory.ts";

/** Each has a text of another length. */
const people = isShort ? 20 : runs(1_200, 3_000);
const all = (people + 41).toLocaleString("en");

let folder: string;
let server: ServerProcess;
let postgres: PostgresServer;
const data = () => join(folder, "data");

before(async () => {
  postgres = await PostgresServer.shared();
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  server = await start(["--data", data()], { cwd: folder });
  const authorization = `Bearer ${firstToken(server)}`;
  const send = async (method: string, path: string, body: string | FormData, headers = {}) => {
    const init = { method, headers: { authorization, ...headers }, body };
    const response = await fetch(`${server.url}${path}`, init);
    assert.ok(response.ok, await response.text());
  };
  const type = (name: string) => ({ "content-type": `application/${name}` });
  const definition = { indexed: ["n"], searchable: ["text"], access: { read: "owner" } };
  await send("PUT", "/-/collections/people", JSON.stringify(definition), type("json"));
  for (let n = 0; n < 40; n++) {
    const form = new FormData();
    form.append("file", new Blob([`${n}`.repeat(20_000)]), "a.txt");
    await send("POST", "/docs", form);
  }
  const lines = Array.from({ length: people }, (_, n) =>
    JSON.stringify({ n, text: "x ".repeat(n) }),
  );
  await send("POST", "/people", lines.join("\n"), type("x-ndjson"));
  await send("POST", "/orders", "{}", { ...type("json"), "idempotency-key": "one" });
});
after(async () => {
  server.signal("SIGTERM");
  await server.ended;
  await rm(folder, { recursive: true, force: true });
  await postgres.close();
});

const restante = (...args: readonly string[]) => run(args, { cwd: folder });

/** Returns whether the command was killed at the system call, as it was if the call was made. */
const killAt = (calls: string, when: number, args: readonly string[]) =>
  runKilledAt(calls, when, args, { cwd: folder });

/** All rows and files of a data folder, without what a server that nobody asks still writes: clocks and last uses. */
async function contentOf(path: string): Promise<unknown> {
  const snapshot = await sqliteSource(join(path, "restante.db")).snapshot();
  const rows: unknown[] = [];
  for (const { part } of snapshot.collections)
    for (const table of sourceTableNames)
      for await (const step of snapshot.rows(part, table)) rows.push(...step);
  const { store } = snapshot;
  const collections = snapshot.collections.map(({ head: { keyClock: _, ...head }, ...each }) => ({
    ...each,
    head,
  }));
  const tokens = snapshot.tokens.map(({ usedAt: _, ...token }) => token);
  await snapshot.close();
  const files = await filesIn(join(path, "files"));
  const hashes: string[] = [];
  for (const file of files) {
    const bytes = await readFile(join(path, "files", file));
    hashes.push(createHash("sha256").update(bytes).digest("hex"));
  }
  return { collections, tokens, store, rows, files, hashes };
}

async function filesIn(path: string): Promise<readonly string[]> {
  if (!existsSync(path)) return [];
  const names = await readdir(path, { recursive: true });
  return names.filter((name) => /^..\/.{30}$/.test(name)).toSorted();
}

describe("restante copy", () => {
  itLong("goes on after it was killed at any moment, there and back", async () => {
    const random = randomNumbers(newSeed("killed copies"));
    // Files are synced, rows are read from SQLite and written to it.
    const calls = [
      ["fsync", 20],
      ["pread64", 500],
      ["pwrite64", 2_000],
    ] as const;
    const url = await postgres.database();
    const back = join(folder, "back");
    const ways = [
      ["--from", data(), "--to", url, "--to-files", "moved"],
      ["--from", url, "--from-files", "moved", "--to", back],
    ];
    for (const way of ways) {
      const args = ["copy", ...way];
      let isDone = false;
      for (let kills = 0; kills < runs(2, 8) && !isDone; kills++) {
        const [call, most] = calls[kills % calls.length] ?? assert.fail();
        isDone = !(await killAt(call, Math.ceil(random() * most), args));
      }
      if (isDone) continue;
      const ended = await restante(...args);
      assert.equal(ended.code, 0, ended.stderr);
      assert.match(
        ended.stdout,
        new RegExp(`^Copied ${all} resources in 3 collections, 1 token and 40 files`, "m"),
      );
    }
    assert.ok(!existsSync(`${back}.copying`));
    assert.deepEqual(await contentOf(back), await contentOf(data()));
    await postgres.drop(url);
  });

  it("follows a server until it has stopped, and loses nothing", async () => {
    const path = join(folder, "old");
    const old = await start(["--data", path], { cwd: folder });
    const authorization = `Bearer ${firstToken(old)}`;
    const post = async (n: number) => {
      const headers = { authorization, "content-type": "application/json" };
      const body = JSON.stringify({ n });
      const init = { method: "POST", headers, body };
      return (await fetch(`${old.url}/notes`, init)).status;
    };
    assert.equal(await post(0), 201);
    const [program, ...words] = commandLine;
    const args = ["copy", "--from", path, "--to", "new", "--follow"];
    const child = spawn(program, [...words, ...args], { cwd: folder });
    let output = "";
    const isUpToDate = new Promise<void>((resolve) => {
      child.stderr.setEncoding("utf8").on("data", (text) => {
        output += text;
        if (output.includes("Stop the server of")) resolve();
      });
    });
    child.stdout.resume();
    const closed = once(child, "close");
    await Promise.race([isUpToDate, closed]);
    for (let n = 1; n < 50; n++) assert.equal(await post(n), 201);
    old.signal("SIGTERM");
    await old.ended;
    const [code] = await closed;
    assert.equal(code, 0, output);
    assert.deepEqual(await contentOf(join(folder, "new")), await contentOf(path));
  });

  const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
  const skip = !hasScript && "there is no util-linux script";
  itLong("shows a bar on a terminal, and follows Postgres until Enter", { skip }, async () => {
    const url = await postgres.database();
    const there = await restante("copy", "--from", data(), "--to", url, "--to-files", "there");
    assert.equal(there.code, 0, there.stderr);
    const args = ["--from", url, "--from-files", "there", "--to", "watched", "--follow"];
    const command = [...commandLine, "copy", ...args].map((word) => `'${word}'`).join(" ");
    const options = { cwd: folder, env: { PATH: process.env.PATH } };
    const child = spawn("script", ["-qec", command, "/dev/null"], options);
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      const isAsked = text.includes("press Enter");
      text += chunk;
      if (!isAsked && text.includes("press Enter")) child.stdin.write("\n");
    });
    const [code] = await once(child, "close");
    assert.equal(code, 0, text);
    const shown = text.replaceAll("\x1b[K", "<clear>");
    assert.match(shown, new RegExp(`\\rrows: \\[-+\\] 0 %, 0 of ${all} resources, 0\\/s<clear>`));
    assert.match(
      shown,
      new RegExp(`\\rcheck: ${all} resources in [\\d.]+ s( \\([\\d,]+\\/s\\))?<clear>\\r\\n`),
    );
    assert.match(shown, new RegExp(`^Copied ${all} resources`, "m"));
    assert.deepEqual(await contentOf(join(folder, "watched")), await contentOf(data()));
    await postgres.drop(url);
  });

  itLong("announces and measures how long writes wait", async () => {
    const made = await restante("copy", "--from", data(), "--to", "announced");
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stderr, /^Writes wait now\.$/m);
    assert.match(
      made.stdout,
      /^Writes waited \d+ ms\. What is written to .* is not in the copy\.$/m,
    );
    const again = await restante("copy", "--from", data(), "--to", "announced");
    assert.equal(again.code, 1);
    assert.match(
      again.stderr,
      /^The copy failed: .*announced is not empty: choose another folder\.$/m,
    );
    const other = await restante("copy", "--from", data(), "--to", "mysql://localhost/x");
    assert.equal(other.code, 2);
    assert.match(other.stderr, /^--to: must be a folder or postgres:/);
    const report = await restante("copy", "--from", "announced", "--to", "report", "--json");
    const { resources, rows, files, heldMs } = JSON.parse(report.stdout) as Record<string, unknown>;
    assert.deepEqual([resources, rows, files], [people + 41, people + 42, 40]);
    assert.equal(typeof heldMs, "number");
  });

  itLong("says what is wrong, and goes on when there is room again", async () => {
    const args = ["copy", "--from", data(), "--to", "full"];
    const { code, stderr } = await runOnFullDisk(600, args, folder);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^The copy failed: .*: run the same command again to continue\.$/m);
    assert.ok(!existsSync(join(folder, "full")));
    const made = await restante(...args);
    assert.equal(made.code, 0, made.stderr);
    assert.deepEqual(await contentOf(join(folder, "full")), await contentOf(data()));
  });

  itLong("makes a copy in a folder that exists and is empty", async () => {
    const to = join(folder, "volume");
    await mkdir(join(to, "lost+found"), { recursive: true });
    const args = ["copy", "--from", data(), "--to", to];
    // What a copy has left that was killed before it began, and then what a later kill leaves.
    await writeFile(join(to, "restante.db"), "");
    await writeFile(join(to, "restante.commits"), Buffer.alloc(8));
    assert.equal(await killAt("pwrite64", 300, args), canInject());
    if (!hasDatabase(to) || existsSync(join(to, "restante.copy"))) {
      const made = await restante(...args);
      assert.equal(made.code, 0, made.stderr);
    }
    assert.deepEqual(await contentOf(to), await contentOf(data()));
  });

  itLong("names the files that are damaged, and publishes nothing", async () => {
    const made = await restante("copy", "--from", data(), "--to", "damaged");
    assert.equal(made.code, 0, made.stderr);
    const [first = ""] = await filesIn(join(folder, "damaged", "files"));
    await writeFile(join(folder, "damaged", "files", first), "other bytes");
    const { code, stderr, stdout } = await restante("copy", "--from", "damaged", "--to", "no");
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(
      stderr,
      /^The copy failed: files are missing or damaged at the source: \/docs\/[^/ ]+\/file\. /m,
    );
    assert.ok(!existsSync(join(folder, "no")));
  });

  it("refuses what it cannot do, and touches nothing", async () => {
    for (const args of [
      ["--from", data()],
      ["--to", "x"],
      ["--from", data(), "--to", "x", "--y"],
    ])
      assert.equal((await restante("copy", ...args)).code, 2, args.join(" "));
    const url = await postgres.database();
    await mkdir(join(folder, "mine"));
    await writeFile(join(folder, "mine", "file"), "mine");
    const refused: readonly (readonly [RegExp, ...string[]])[] = [
      [/there is no store in .*none/, "--from", "none", "--to", "x"],
      [/is not empty/, "--from", data(), "--to", "mine"],
      [/overlap/, "--from", data(), "--to", join(data(), "x")],
      [/add --to-files/, "--from", data(), "--to", url],
      [/start the server once/, "--from", url, "--to", "x"],
      [/overlap/, "--from", data(), "--to", url, "--to-files", join(data(), "files")],
      [/ECONNREFUSED/, "--from", "postgres://127.0.0.1:1/x", "--to", "x"],
    ];
    for (const [message, ...args] of refused) {
      const { code, stderr } = await restante("copy", ...args);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /^The copy failed: .*\.\n$/);
      assert.match(stderr, message);
    }
    assert.ok(!existsSync(join(folder, "x")) && !existsSync(join(folder, "x.copying")));
    assert.deepEqual(await readdir(join(folder, "mine")), ["file"]);
    await postgres.drop(url);
  });
});
