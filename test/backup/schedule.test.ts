// Backups that a running server makes by itself, and what it shows of them.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Tasks } from "../../src/lib/tasks.ts";
import { BackupScheduler } from "../../src/server/backup-schedule.ts";
import { defaultConfig } from "../../src/server/config.ts";
import { createLog } from "../../src/server/log.ts";
import { startApp } from "../http/app.ts";
import { PostgresServer } from "../postgres-server.ts";
import { firstToken, run, type ServerProcess, start } from "../process.ts";

interface Status {
  readonly schedule: { readonly to: string; readonly nextAt: string | null } | null;
  readonly data: readonly {
    readonly state: string;
    readonly bytes: number | null;
    readonly error: string | null;
  }[];
}

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** Returns the admin token. */
async function withServer(
  args: readonly string[],
  act: (server: ServerProcess, status: () => Promise<Status>) => Promise<void>,
  known?: string,
): Promise<string> {
  const server = await start(args, { cwd: folder });
  const token = known ?? firstToken(server);
  const headers = { authorization: `Bearer ${token}` };
  const status = async () => {
    const response = await fetch(`${server.url}/-/backups`, { headers });
    assert.equal(response.status, 200);
    return (await response.json()) as Status;
  };
  try {
    await act(server, status);
    return token;
  } finally {
    server.signal("SIGTERM");
    await server.ended;
  }
}

/** The test's own time limit ends a wait in vain. */
async function runOnceEnded(status: () => Promise<Status>): Promise<Status> {
  for (;;) {
    const found = await status();
    const [run] = found.data;
    if (run !== undefined && run.state !== "running") return found;
    await sleep(20);
  }
}

describe("a server with --backup-to", () => {
  for (const store of ["sqlite", "postgres"])
    it(`makes a backup of ${store}, shows and logs it`, async () => {
      const postgres = store === "postgres" ? await PostgresServer.shared() : undefined;
      const url = await postgres?.preparedDatabase();
      const to = join(folder, `to-${store}`);
      const flags = ["--backup-to", to, "--backup-every", "6h", "--backup-keep", "7d"];
      const data = join(folder, `data-${store}`);
      const more = url === undefined ? [] : ["--store", url];
      const args = ["--data", data, ...more, ...flags];
      const token = await withServer(args, async (server, status) => {
        const { schedule, data } = await runOnceEnded(status);
        assert.deepEqual(
          data.map(({ state, error }) => [state, error]),
          [["done", null]],
        );
        assert.equal(schedule?.to, to);
        assert.ok(schedule?.nextAt !== null);
        while (!server.stdout().includes('"msg":"made a backup"')) await sleep(20);
      });
      const checked = await run(["restore", "--check", "--from", to], { cwd: folder });
      assert.equal(checked.code, 0, checked.stderr);
      // The next start finds it, and makes no other one.
      await withServer(
        args,
        async (_, status) => {
          const { schedule, data } = await runOnceEnded(status);
          assert.equal(data.length, 1);
          assert.ok(Date.parse(schedule?.nextAt ?? "") > Date.now());
        },
        token,
      );
      await postgres?.close();
    });

  it("does not wait for a time at which a clock that was ahead has made one", async () => {
    const to = join(folder, "ahead");
    const data = join(folder, "data-ahead");
    const token = await withServer(["--data", data], async () => undefined);
    const made = await run(["backup", "--data", data, "--to", to, "--json"], { cwd: folder });
    const record = JSON.parse(made.stdout) as { readonly createdAt: string };
    const path = join(to, "backups", `${record.createdAt.replaceAll(":", "-")}.json`);
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace(record.createdAt, "2099-01-01T00:00:00.000Z"));
    await withServer(
      ["--data", data, "--backup-to", to],
      async (_, status) => {
        for (;;) {
          const { schedule, data } = await status();
          assert.doesNotMatch(schedule?.nextAt ?? "", /^2099/);
          if (data.length === 2 && data[0]?.state === "done") break;
          await sleep(20);
        }
      },
      token,
    );
  });

  it("makes the next one in time when the clock is set back meanwhile", async (context) => {
    const to = join(folder, "set-back");
    await writeFile(to, "no folder");
    const config = { ...defaultConfig, data: join(folder, "none"), backupEvery: 60 * 60_000 };
    const clock = Date.now;
    context.after(() => {
      Date.now = clock;
    });
    Date.now = () => clock() + 10 * 24 * 60 * 60_000;
    const nextAt = await new Promise<number | undefined>((resolve) => {
      const scheduler = new BackupScheduler({
        ...{ config, to, log: createLog("silent"), tasks: new Tasks() },
        onChange({ schedule, runs: [last] }) {
          if (last?.state === "running") Date.now = clock;
          if (last?.state !== "failed") return;
          scheduler.stop();
          resolve(schedule?.nextAt);
        },
      });
      void scheduler.start();
    });
    assert.ok((nextAt ?? Number.POSITIVE_INFINITY) <= clock() + config.backupEvery);
  });

  it("shows why one failed, also with workers", async () => {
    const to = join(folder, "foreign");
    await mkdir(to);
    await writeFile(join(to, "file"), "mine");
    const args = ["--data", join(folder, "workers"), "--workers", "2", "--backup-to", to];
    await withServer(args, async (server, status) => {
      const { data } = await runOnceEnded(status);
      assert.equal(data[0]?.state, "failed");
      assert.match(data[0]?.error ?? "", /is not a folder of backups/);
      while (!server.stdout().includes('"msg":"a backup failed"')) await sleep(20);
    });
  });
});

describe("GET /-/backups", () => {
  it("is for admins only, and empty without a schedule", async () => {
    const app = await startApp();
    try {
      assert.deepEqual(await (await app.request("/-/backups")).json(), {
        schedule: null,
        data: [],
      });
      const token = await app.token("*:*");
      assert.equal((await app.request("/-/backups", { token })).status, 403);
      assert.equal((await app.request("/-/backups", { token: null })).status, 401);
      assert.equal((await app.request("/-/backups?limit=1")).status, 400);
    } finally {
      await app.stop();
    }
  });
});
