// The cheap checks: clock, versions, marks of a failed disk, owners; and what a server logs when it starts.

import assert from "node:assert/strict";
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { checkQuickly } from "../../src/doctor/doctor.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import type { Config } from "../../src/server/config.ts";
import { openExaminer } from "../../src/server/open-repair.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import { start } from "../process.ts";
import { create, put } from "../store/contract/change-helpers.ts";
import { withSql } from "./damage.ts";

const storedAt = Date.UTC(2026, 10, 1);
const hourMs = 60 * 60 * 1000;

async function inFolder(test: (config: Config) => Promise<void>): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), "restante-"));
  try {
    const store = await openSqlite({ path: data });
    await store.commit([create("things", storedAt), put("a", { at: storedAt })]);
    await store.close();
    await test({ data } as Config);
  } finally {
    await rm(data, { recursive: true });
  }
}

async function problemsAt(config: Config, now = storedAt + hourMs): Promise<readonly Finding[]> {
  const { data } = config;
  const findings = await checkQuickly({
    folders: { data, files: join(data, "files") },
    openExaminer: () => openExaminer(config),
    versions: [],
    now: () => now,
  });
  return findings.filter(({ state }) => state !== "ok");
}

const checksOf = (findings: readonly Finding[]) =>
  findings.map(({ check, state }) => `${check} ${state}`);

describe("the cheap checks", () => {
  it("find nothing in a new folder", () =>
    inFolder(async (config) => assert.deepEqual(await problemsAt(config), [])));

  it("warn of a clock that is behind, or absurd", () =>
    inFolder(async (config) => {
      for (const now of [storedAt - hourMs, 0])
        assert.deepEqual(checksOf(await problemsAt(config, now)), ["clock warning"]);
      assert.deepEqual(await problemsAt(config, storedAt - 1_000), []);
    }));

  it("name the version that is needed", () =>
    inFolder(async (config) => {
      for (const [version, advice] of [
        [11, /^Start with a new folder/],
        [1_000, /^Use Restante \d/],
      ] as const) {
        await withSql(config, (sql) => sql(`PRAGMA user_version = ${version}`));
        const [problem] = await problemsAt(config);
        assert.equal(problem?.check, "versions");
        assert.match(problem?.advice ?? "", advice);
      }
    }));

  it("report a disk that has failed", () =>
    inFolder(async (config) => {
      const mark = { reason: "a sync failed", since: "2026-11-01T00:00:00.000Z", batch: 1 };
      await writeFile(join(config.data, "restante.suspect"), JSON.stringify(mark));
      const [problem] = await problemsAt(config);
      assert.equal(problem?.state, "error");
      assert.match(problem?.message ?? "", /failed since 2026-11-01T.*: a sync failed\./);
    }));

  it("report a file that is no database", () =>
    inFolder(async (config) => {
      await writeFile(join(config.data, "restante.db"), "x".repeat(10_000));
      assert.deepEqual(checksOf(await problemsAt(config)), ["database error"]);
    }));

  const isRoot = process.getuid?.() === 0;
  it("warn of files of another user", { skip: !isRoot && "only root gives files away" }, () =>
    inFolder(async (config) => {
      await chown(join(config.data, "restante.db"), 12_345, 12_345);
      const [problem] = await problemsAt(config);
      assert.match(problem?.message ?? "", /restante\.db belongs to another user/);
      assert.match(problem?.advice ?? "", /^Run chown 0 /);
    }),
  );

  it("are logged by a server when it starts", () =>
    inFolder(async ({ data }) => {
      await chmod(data, 0o755);
      const server = await start(["--data", data], { cwd: data });
      const warning = /"level":40,.*"check":"permissions",.*"msg":"Every user of this machine can/;
      while (!warning.test(server.stdout())) await sleep(5);
      server.signal("SIGTERM");
      assert.equal((await server.ended).code, 0);
    }));
});
