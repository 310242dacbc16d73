// `restante doctor` as a process: beside a server, on a terminal, killed while it repairs, on damaged files.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, cp, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { riskyFileSystem } from "../../src/doctor/file-systems.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { backUp, restore } from "../../src/server/backups.ts";
import { type Config, readConfig } from "../../src/server/config.ts";
import { examine } from "../../src/server/doctor.ts";
import { noTrack } from "../backup/stores.ts";
import {
  commandLine,
  firstToken,
  run,
  runKilledAt,
  runOnFullDisk,
  type ServerProcess,
  start,
} from "../process.ts";
import { isLong, newSeed, randomNumbers, runs } from "../seeds.ts";
import { itLong } from "../short-run.ts";
import { canInject } from "../store/sqlite/test-directory.ts";
import { withSql } from "./damage.ts";

let folder: string;
let server: ServerProcess;
const data = () => join(folder, "data");
const resourceCount = runs(1_200, 3_000);
const all = (resourceCount + 1).toLocaleString("en");

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  server = await start(["--data", data()], { cwd: folder });
  const authorization = `Bearer ${firstToken(server)}`;
  const send = async (method: string, path: string, type: string, body: string) => {
    const headers = { authorization, "content-type": type };
    const response = await fetch(`${server.url}${path}`, { method, headers, body });
    assert.ok(response.ok, await response.text());
  };
  const definition = { indexed: ["n"], searchable: ["text"] };
  await send("PUT", "/-/collections/people", "application/json", JSON.stringify(definition));
  const lines = Array.from({ length: resourceCount }, (_, n) =>
    JSON.stringify({ n, text: `some words and ${n}` }),
  );
  await send("POST", "/people", "application/x-ndjson", lines.join("\n"));
  await send("POST", "/docs", "text/plain", "a file of its own");
  const from = join(folder, "backups");
  await backUp(configOf(data()), { to: from, track: noTrack });
  await restore(configOf(join(folder, "restored")), { from, isOverwriting: false, track: noTrack });
});
after(async () => {
  server.signal("SIGTERM");
  await server.ended;
  await rm(folder, { recursive: true, force: true });
});

interface Report {
  readonly state: string;
  readonly repaired: readonly string[];
  readonly findings: readonly Finding[];
}

const doctor = (...args: readonly string[]) => run(["doctor", ...args], { cwd: folder });

async function reportOf(...args: readonly string[]): Promise<Report & { code: number | null }> {
  const { code, stdout, stderr } = await doctor(...args, "--json");
  assert.equal(stderr, "");
  return { code, ...(JSON.parse(stdout) as Report) };
}

/** A copy of the data folder, whose database is one file. */
async function copyData(name: string): Promise<string> {
  const copy = join(folder, name);
  await cp(join(folder, "restored"), copy, { recursive: true });
  return copy;
}

const configOf = (path: string): Config =>
  readConfig({ flags: { data: path }, environment: {}, cwd: folder }) as Config;

describe("restante doctor", () => {
  it("says well beside a running server", async () => {
    const { code, stdout, stderr } = await doctor("--data", data());
    assert.equal(code, 0, stdout);
    assert.match(stderr, new RegExp(`^resources: ${all} resources in`, "m"));
    assert.match(
      stdout,
      new RegExp(`^ok {6}resources +${all} resources in \\d collections have the checksums`, "m"),
    );
    assert.match(stdout, /^ok {6}indexes /m);
    assert.match(stdout, /data is healthy\.\n$/);
    const quick = await reportOf("--data", data(), "--quick");
    assert.equal(quick.state, "ok");
    assert.ok(!quick.findings.some(({ check }) => check === "resources"));
  });

  it("refuses wrong usage, and says what is wrong with a folder", async () => {
    assert.equal((await doctor("--data", data(), "--quick", "--repair")).code, 2);
    const none = await doctor("--data", "nothing");
    assert.equal(none.code, 1);
    assert.match(none.stdout, /^ERROR {3}folder +.*nothing does not exist\.\n +Correct --data/m);
  });

  it("does not repair beside a server, and names it", async () => {
    const add = "INSERT INTO entries (part, field, key, seq) SELECT part, 'n', 'x', 1 FROM heads";
    const config = configOf(data());
    await withSql(config, (sql) => sql(add));
    try {
      const { code, stderr } = await doctor("--data", data(), "--repair");
      assert.equal(code, 1);
      assert.match(stderr, /^The repair failed: process \d+ at http:.* owns it\. .*stop that/m);
    } finally {
      await withSql(config, (sql) => sql("DELETE FROM entries WHERE key = 'x'"));
    }
  });

  it("takes rights from others, and warns before", async () => {
    const copy = await copyData("open");
    await chmod(copy, 0o755);
    const warned = await reportOf("--data", copy, "--quick");
    assert.deepEqual([warned.code, warned.state], [0, "warning"]);
    const { code, state, repaired } = await reportOf("--data", copy, "--repair");
    assert.deepEqual([code, state, repaired.length], [0, "ok", 1]);
    assert.equal((await stat(copy)).mode & 0o777, 0o750);
  });

  itLong("repairs after it was killed at any moment", async () => {
    const copy = await copyData("killed");
    const config = configOf(copy);
    await withSql(config, async (sql) => {
      await sql("DELETE FROM entries WHERE seq % 2 = 0");
      await sql("UPDATE heads SET total = total + 1");
    });
    for (const [call, when] of [
      ["pwrite64", 40],
      ["pwrite64", 150],
      ["fsync", 1],
      ["fsync", 3],
    ] as const) {
      const args = ["doctor", "--data", copy, "--repair"];
      assert.equal(await runKilledAt(call, when, args, { cwd: folder }), canInject());
      await rm(join(copy, "restante.owner"), { force: true });
    }
    const { code, state, findings } = await reportOf("--data", copy, "--repair");
    assert.deepEqual([code, state], [0, "ok"], JSON.stringify(findings));
  });

  itLong("changes nothing on a full disk", async () => {
    const copy = await copyData("full");
    await withSql(configOf(copy), (sql) => sql("DELETE FROM words WHERE seq % 2 = 0"));
    const args = ["doctor", "--data", copy, "--repair"];
    const { code, stderr } = await runOnFullDisk(200, args, folder);
    assert.equal(code, 1);
    assert.match(stderr, /^The repair failed: .*\n$/m);
    assert.doesNotMatch(stderr, /\n\s+at /);
    const before = await reportOf("--data", copy);
    assert.deepEqual(
      new Set(before.findings.map(({ state, check }) => state !== "ok" && check)),
      new Set([false, "search words"]),
    );
    assert.equal((await reportOf("--data", copy, "--repair")).state, "ok");
  });

  const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
  it("shows a bar on a terminal", { skip: !hasScript }, () => {
    const command = [...commandLine, "doctor", "--data", data()].map((word) => `'${word}'`);
    const options = { cwd: folder, env: { PATH: process.env.PATH } };
    const { stdout } = spawnSync("script", ["-qec", command.join(" "), "/dev/null"], options);
    const text = stdout.toString().replaceAll("\x1b[K", "<clear>");
    assert.match(text, new RegExp(`\\rresources: \\[-+\\] 0 %, 0 of ${all} resources`));
    assert.match(text, new RegExp(`\\rresources: ${all} resources in [\\d.]+ s.*<clear>\\r\\n`));
    assert.match(text, /data is healthy\.\r\n$/);
  });

  it("reports a database with a wrong byte, without a stack trace", async () => {
    const copy = await copyData("flipped");
    const random = randomNumbers(newSeed("wrong bytes"));
    let found = 0;
    const count = runs(4, 500);
    for (let n = 0; n < count; n++) {
      const path = join(folder, `flipped-${n}`);
      await cp(copy, path, { recursive: true });
      await flip(join(path, "restante.db"), random);
      const { findings } = await examine(configOf(path), { isQuick: false, track: noTrack });
      if (findings.some(({ state }) => state === "error")) found++;
      await rm(path, { recursive: true });
    }
    // Some bytes are of no row, and a few runs may have only such.
    if (isLong) assert.ok(found > count / 3, `${found} of ${count}`);
    const handle = await open(join(copy, "restante.db"), "r+");
    await handle.write(Buffer.alloc(4096, 7), 0, 4096, 4096 * 3);
    await handle.close();
    const { code, stdout, stderr } = await doctor("--data", copy);
    assert.equal(code, 1, stdout);
    assert.match(stdout, /^ERROR {3}database +The database .*\n +If it is damaged, stop/m);
    assert.doesNotMatch(stdout + stderr, /\n\s+at /);
  });
});

async function flip(path: string, random: () => number): Promise<void> {
  const handle = await open(path, "r+");
  try {
    const place = Math.floor(random() * (await handle.stat()).size);
    const byte = Buffer.alloc(1);
    await handle.read(byte, 0, 1, place);
    byte[0] = (byte[0] ?? 0) ^ (1 << Math.floor(random() * 8));
    await handle.write(byte, 0, 1, place);
  } finally {
    await handle.close();
  }
}

describe("riskyFileSystem", () => {
  it("knows the file systems of other machines, and FUSE", () => {
    assert.equal(riskyFileSystem(0x6969, "linux"), "NFS");
    assert.equal(riskyFileSystem(0x65735546, "linux"), "FUSE");
    assert.equal(riskyFileSystem(0xff534d42 | 0, "linux"), "CIFS");
    assert.equal(riskyFileSystem(0xef53, "linux"), undefined);
    assert.equal(riskyFileSystem(0x6969, "darwin"), undefined);
  });
});
