// The command `bench`, for one second: what it measures, and that it leaves nothing.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { BenchReport } from "../../src/bench/bench.ts";
import { childrenOf, commandLine, isRunning, run } from "../process.ts";
import { itLong } from "../short-run.ts";

describe("restante bench", () => {
  const cwd = mkdtempSync(join(tmpdir(), "restante-bench-test-"));
  after(() => rmSync(cwd, { recursive: true }));

  it("measures the disk and a server, and leaves nothing", async () => {
    const args = ["bench", "--data", "data", "--seconds", "1", "--json"];
    const { code, stdout, stderr } = await run(args, { cwd });
    assert.equal(code, 0, stderr);
    const report = JSON.parse(stdout) as BenchReport;
    for (const each of [report.sync, report.postAlone, report.post, report.get, report.list]) {
      assert.ok(each.perSecond > 0, stdout);
      assert.ok(each.p50Ms > 0 && each.p50Ms <= each.p99Ms, stdout);
    }
    assert.ok(report.get.cpuMicroseconds > 0, stdout);
    assert.ok(report.resources > 0 && report.memoryBytes > 1_000_000, stdout);
    assert.deepEqual(readdirSync(cwd), []);
  });

  it("says what to expect", async () => {
    const { stdout } = await run(["bench", "--seconds", "1"], { cwd });
    assert.match(stdout, /^GET one {2,}[\d,]+ {2,}[\d.]+ ms/m);
    assert.match(stdout, /^- One core answers about [\d,]+ GETs or [\d,]+ lists/m);
  });

  itLong("removes its folder and ends its server when it is interrupted", async () => {
    const [program, ...words] = commandLine;
    const child = spawn(program, [...words, "bench", "--data", "data"], { cwd, stdio: "ignore" });
    const exit = once(child, "exit");
    let [server] = await childrenOf(child.pid ?? 0);
    while (server === undefined) [server] = await childrenOf(child.pid ?? 0);
    child.kill("SIGINT");
    assert.deepEqual(await exit, [130, null]);
    while (await isRunning(server));
    assert.deepEqual(readdirSync(cwd), []);
  });

  it("rejects a time that it cannot measure", async () => {
    for (const seconds of ["0", "-1", "long", "1e9"])
      assert.equal((await run(["bench", "--seconds", seconds], { cwd })).code, 2, seconds);
  });
});
