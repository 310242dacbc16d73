// The commands `backup` and `restore` as processes: beside a server, killed in the middle, on a full disk.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import {
  firstToken,
  run,
  runKilledAt,
  runOnFullDisk,
  type ServerProcess,
  start,
} from "../process.ts";
import { runs } from "../seeds.ts";
import { isShort, itLong } from "../short-run.ts";
import { canInject } from "../store/sqlite/test-directory.ts";

/** Each has a text of another length. */
const people = runs(1_200, 3_000);
const all = (people + 60).toLocaleString("en");

let folder: string;
let server: ServerProcess;
const data = () => join(folder, "data");

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  server = await start(["--data", data()], { cwd: folder });
  const authorization = `Bearer ${firstToken(server)}`;
  const post = async (path: string, body: string | FormData, headers = {}) => {
    const init = { method: "POST", headers: { authorization, ...headers }, body };
    const response = await fetch(`${server.url}${path}`, init);
    assert.ok(response.ok);
    await response.text();
  };
  for (let n = 0; n < 60; n++) {
    const form = new FormData();
    form.append("file", new Blob([`${n}`.repeat(20_000)]), "a.txt");
    await post("/docs", form);
  }
  const lines = Array.from({ length: people }, (_, n) =>
    JSON.stringify({ n, text: "x".repeat(n) }),
  );
  await post("/people", lines.join("\n"), { "content-type": "application/x-ndjson" });
});
after(async () => {
  server.signal("SIGTERM");
  await server.ended;
  await rm(folder, { recursive: true, force: true });
});

const restante = (...args: readonly string[]) => run(args, { cwd: folder });

const killAt = (calls: string, when: number, args: readonly string[]) =>
  runKilledAt(calls, when, args, { cwd: folder });

const withLimit = (blocks: number, args: readonly string[]) => runOnFullDisk(blocks, args, folder);

describe("restante backup and restore", () => {
  it("go on after they were killed at any moment", async () => {
    const to = join(folder, "killed");
    const backup = ["backup", "--data", data(), "--to", to];
    // How the calls are spread over threads is the runtime's.
    for (const when of isShort ? [2, 20] : [1, 2, 10, 20])
      assert.ok((await killAt("fsync", when, backup)) === canInject() || when > 2);
    const made = await restante(...backup, "--json");
    assert.equal(made.code, 0, made.stderr);
    const { resources, files } = JSON.parse(made.stdout) as { resources: number; files: number };
    assert.deepEqual([resources, files], [people + 60, 60]);
    const target = join(folder, "from-killed");
    const restore = ["restore", "--from", to, "--data", target];
    for (const when of isShort ? [20] : [1, 10, 20]) await killAt("fsync", when, restore);
    assert.equal(await killAt("pwrite64", 100, restore), canInject());
    if (!existsSync(target)) {
      const restored = await restante(...restore);
      assert.equal(restored.code, 0, restored.stderr);
      assert.match(
        restored.stdout,
        new RegExp(`^Restored ${all} resources and 60 files of 20.* to .*from-killed`),
      );
    }
    assert.ok(!existsSync(`${target}.restoring`));
    const again = await restante(...restore);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /^Nothing was restored: .* is not empty: .*--overwrite/m);
  });

  itLong("say what is wrong in one line, and leave nothing on a full disk", async () => {
    const to = join(folder, "full");
    const small = await withLimit(16, ["backup", "--data", data(), "--to", to]);
    assert.equal(small.code, 1);
    assert.match(small.stderr, /^The backup failed: .*\n$/m);
    assert.equal((await restante("restore", "--check", "--from", to)).code, 1);
    const archive = join(folder, "full.tar.zst");
    assert.equal((await withLimit(16, ["backup", "--data", data(), "--to", archive])).code, 1);
    assert.ok(!existsSync(archive) && !existsSync(`${archive}.partial`));
    const made = await restante("backup", "--data", data(), "--to", to);
    assert.equal(made.code, 0, made.stderr);
    assert.match(
      made.stdout,
      new RegExp(`has ${all} resources and 60 files, .* are new\\. It took`),
    );
    const target = join(folder, "none");
    const full = await withLimit(600, ["restore", "--from", to, "--data", target]);
    assert.equal(full.code, 1, full.stderr);
    assert.match(full.stderr, /^Nothing was restored: .*\n$/m);
    assert.ok(!existsSync(target) && !existsSync(`${target}.restoring`));
  });

  it("refuse wrong usage with exit code 2", async () => {
    for (const args of [
      ["backup", "--data", data()],
      ["backup", "--data", data(), "--to", "x", "--keep", "soon"],
      ["restore"],
      ["restore", "--from", "x", "--at", "yesterday"],
    ])
      assert.equal((await restante(...args)).code, 2, args.join(" "));
    const none = await restante("backup", "--data", join(folder, "nothing"), "--to", "x");
    assert.equal(none.code, 1);
    assert.match(none.stderr, /there is no store in/);
    await mkdir(join(folder, "other"));
    await writeFile(join(folder, "other", "file"), "mine");
    const foreign = await restante("restore", "--from", "other", "--data", "new");
    assert.equal(foreign.code, 1);
    assert.match(foreign.stderr, /is not a folder of backups/);
  });

  it("do not restore into the folder of a running server", async () => {
    const to = join(folder, "running");
    await restante("backup", "--data", data(), "--to", to);
    const running = await restante("restore", "--from", to, "--data", data(), "--overwrite");
    assert.equal(running.code, 1);
    assert.match(running.stderr, /Only one process can write to a data folder/);
  });

  it("do not replace a database that another program has open, unless that is forced", async () => {
    const [to, restored] = [join(folder, "followed"), join(folder, "restored")];
    await restante("backup", "--data", data(), "--to", to);
    const args = ["restore", "--from", to, "--data", restored, "--overwrite"];
    const first = await restante(...args);
    assert.deepEqual([first.code, /Warning/.test(first.stderr)], [0, false], first.stderr);
    await mkdir(join(restored, ".restante.db-litestream"));
    const other = new DatabaseSync(join(restored, "restante.db"));
    other.exec("BEGIN");
    other.prepare("SELECT count(*) FROM store").get();
    const refused = await restante(...args);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^Nothing was restored: .* has .* open.*: stop it.*--force/m);
    const forced = await restante(...args, "--force");
    other.close();
    assert.equal(forced.code, 0, forced.stderr);
    assert.match(forced.stderr, /^Warning: Litestream.* old file.*: restart it/m);
  });
});
