// What npm test shows and returns, on a project of a few small test files.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const node = join(root, "node_modules/.bin/node");

const head = 'import { it } from "node:test";\n';
const sources: Readonly<Record<string, string>> = {
  good: `${head}it("is good", () => {});\nit.skip("is skipped", () => {});\n`,
  bad: `${head}it("is good", () => {});\nit("is bad", () => { throw new Error("the reason"); });\n`,
  empty: "",
  // Another process keeps the output open when the test process has ended.
  crashing: `${head}import { spawn } from "node:child_process";
it("ends the process", () => {
  spawn("sleep", ["600"], { stdio: "inherit" });
  console.log("last words");
  process.exit(3);
});\n`,
  hanging: `${head}import { writeFileSync } from "node:fs";
it("hangs", () => {
  console.log("last words");
  writeFileSync("begun", "");
  return new Promise(() => setInterval(() => {}, 1000));
});\n`,
  "full.long": `${head}it("has all counts", () => {
  if (process.env.RESTANTE_TEST_LONG !== "1") throw new Error("few counts");
});\n`,
};

let project: string;
before(async () => {
  project = await mkdtemp(join(tmpdir(), "restante-runner-"));
  await cp(join(root, "scripts"), join(project, "scripts"), { recursive: true });
  await mkdir(join(project, "test"));
  await symlink(join(root, "node_modules"), join(project, "node_modules"));
  await writeFile(join(project, "package.json"), '{"type":"module"}');
  for (const [name, text] of Object.entries(sources))
    await writeFile(join(project, "test", `${name}.test.ts`), text);
});
after(() => rm(project, { recursive: true, force: true }));

function start(...args: readonly string[]) {
  const child = spawn(node, ["scripts/test.js", ...args], { cwd: project });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => (text += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk) => (text += chunk));
  const ended = once(child, "close").then(([code]) => ({ code, text, last: lastLine(text) }));
  return { child, ended, shown: () => text };
}

const run = (...args: readonly string[]) => start(...args).ended;

const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1) ?? "";

describe("npm test", () => {
  it("counts the tests of both runtimes, or of one", async () => {
    const both = await run("good");
    assert.deepEqual([both.code, both.last], [0, "2 passed, 0 failed, 2 skipped"]);
    assert.match(both.text, /^\d+ seconds, (?:\d+|\?) seconds of processor time(?:;.*)?$/m);
    for (const runtime of ["node", "bun"]) {
      const { code, text, last } = await run("good", "--runtime", runtime);
      assert.deepEqual([code, last], [0, "1 passed, 0 failed, 1 skipped"]);
      assert.match(text, new RegExp(`^${runtime} +good +1 passed`, "m"));
    }
  });

  it("fails, and shows why, where one runtime has a failing test", async () => {
    const { code, text, last } = await run("good", "bad");
    assert.deepEqual([code, last], [1, "4 passed, 2 failed, 2 skipped"]);
    assert.ok((text.match(/the reason/g)?.length ?? 0) >= 2, text);
    const [, atTheEnd = ""] = text.split(/^failed:$/m);
    assert.equal(
      atTheEnd.match(/^ {2}\w+ +\.\/test\/bad\.test\.ts\n(?: {4}.*\n)* {4}.*the reason/gm)?.length,
      2,
    );
  });

  it("fails where a file has no test, or ends before its tests do", async () => {
    const { code, text, last } = await run("empty", "crashing");
    assert.deepEqual([code, last], [1, "0 passed, 4 failed, 0 skipped"]);
    // Each is shown when it ends, and again at the end of all.
    assert.equal(text.match(/last words/g)?.length, 4);
  });

  it("fails where one of several files has no test", async () => {
    const { code, text, last } = await run("good", "empty");
    assert.deepEqual([code, last], [1, "2 passed, 2 failed, 2 skipped"]);
    assert.equal(text.match(/^FAILED .*empty\.test\.ts/gm)?.length, 2);
  });

  it("stopped, shows what runs and what has been counted, and fails", async () => {
    const { child, ended, shown } = start("good", "hanging", "--runtime", "node");
    const hasBegun = () => existsSync(join(project, "begun")) && /^good /m.test(shown());
    while (!hasBegun() && child.exitCode === null) await sleep(20);
    child.kill("SIGTERM");
    const { code, text } = await ended;
    assert.equal(code, 1);
    assert.match(text, /^last words$[\s\S]*^FAILED .*hanging\.test\.ts/m);
    assert.match(text, /^1 passed, 1 failed, 1 skipped\nstopped by SIGTERM$/m);
  });

  it("runs long tests, with full counts, only when asked to", async () => {
    assert.equal((await run("full")).code, 2);
    assert.equal((await run("full", "--long")).last, "2 passed, 0 failed, 0 skipped");
  });

  it("has lists of test files that exist", async () => {
    const files = await readdir(join(root, "test"), { recursive: true });
    const paths = files.map((file) => `/test/${file}`);
    for (const script of ["test-groups.js", "test-runtimes.js"]) {
      const text = await readFile(join(root, "scripts", script), "utf8");
      const names = [...text.matchAll(/^ {2}"(\/[^"]+)",$/gm)].map(([, name = ""]) => name);
      assert.ok(names.length > 1);
      assert.deepEqual(
        names.filter((name) => !paths.some((path) => path.includes(name))),
        [],
      );
    }
  });

  it("says what the host gave to other machines, if that is over a hundredth of the cores' time", async () => {
    const { cpuOfOthers, timesOf } = await import(join(root, "scripts/test-jobs.js"));
    const stat = join(project, "stat");
    await writeFile(stat, "cpu  12 0 7 400 3 0 1 12000 0 0\ncpu0 6 0 4 200 2 0 1 1 0 0\n");
    const others = cpuOfOthers(stat);
    assert.equal(others, 120);
    const run = { seconds: 385, cores: 2, cpu: 687, others };
    assert.equal(
      timesOf(run),
      "385 seconds, 687 seconds of processor time; the host gave 120 more to other machines",
    );
    const alone = "385 seconds, 687 seconds of processor time";
    for (const few of [7.7, 0, undefined]) assert.equal(timesOf({ ...run, others: few }), alone);
    assert.equal(cpuOfOthers(join(project, "nothing")), undefined);
  });

  it("names a runtime or a file that does not exist", async () => {
    assert.match((await run("nowhere")).last, /No test file has a name with nowhere/);
    assert.match((await run("--runtime", "deno")).last, /--runtime must be node or bun/);
  });
});
