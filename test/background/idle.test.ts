// A server on the embedded store that nobody asks anything commits nothing, whatever its tasks do meanwhile.
// @process own

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { assemble } from "../../src/server/app.ts";
import { defaultConfig } from "../../src/server/config.ts";
import { createLog } from "../../src/server/log.ts";
import { startSweeps } from "../../src/server/sweeps.ts";
import { Clock } from "../clock.ts";
import { until } from "../store/postgres/test-databases.ts";

/** Longer than the interval of any task. */
const stepMs = 2 * 24 * 60 * 60_000;

it("an idle server writes nothing while all its tasks run", async () => {
  const data = await mkdtemp(join(tmpdir(), "restante-"));
  const log = createLog("silent");
  const clock = new Clock();
  clock.stop();
  const app = await assemble({ ...defaultConfig, data }, log);
  const database = new DatabaseSync(join(data, "restante.db"), { readOnly: true });
  try {
    startSweeps(app, log);
    // It changes with each commit of another connection.
    const version = database.prepare("PRAGMA data_version");
    const stateOf = async () => [
      (await readFile(join(data, "restante.commits"))).toString("hex"),
      version.get(),
    ];
    const before = await stateOf();
    const runs = () =>
      (app.metrics.read().find(({ name }) => name === "restante_task_runs_total")?.samples ?? [])
        .filter(({ labels }) => labels.outcome === "done")
        .map(({ labels, value }) => [labels.task, value]);
    for (let round = 1; round <= 3; round++) {
      clock.holdUp(stepMs);
      const expected = [
        ["token-uses", 0],
        ["unused-files", round],
        ["expired-uploads", round],
        ["expired-tokens", round],
      ];
      await until(async () => isDeepStrictEqual(runs(), expected));
    }
    assert.deepEqual(await stateOf(), before);
  } finally {
    clock.go();
    database.close();
    await app.close();
    await rm(data, { recursive: true });
  }
});
