// What npm test shows and returns, on a project of a few small test files.
// @runtimes only bun

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
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
  "tagged/node": `// A test.\n// @runtimes node\n${head}it("is good", () => {});\n`,
  "tagged/both": `// A test.\n// @runtimes both\n${head}it("is good", () => {});\n`,
  "tagged/only-bun": `// A test.\n// @runtimes only bun\n${head}it("is good", () => {});\n`,
  "tagged/all": `// A test.\n// @tier all\n${head}it("is good", () => {});\n`,
  "full.long": `${head}it("has all counts", () => {
  if (process.env.RESTANTE_TEST_LONG !== "1") throw new Error("few counts");
});\n`,
};

let project: string;
before(async () => {
  project = await mkdtemp(join(tmpdir(), "restante-runner-"));
  await cp(join(root, "scripts"), join(project, "scripts"), { recursive: true });
  await mkdir(join(project, "test/tagged"), { recursive: true });
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

/** Returns the runtimes of the files that pass, by their names. */
async function runtimesIn(tier: string): Promise<Readonly<Record<string, string>>> {
  const { findTests, runsOn } = await import(join(root, "scripts/test-files.js"));
  const found = findTests(project, tier, ["good", "tagged", "full"]);
  const runtimesOf = (file: unknown) => ["node", "bun"].filter((one) => runsOn(file, one, tier));
  return Object.fromEntries(
    found
      .map((file: { path: string }) => [file.path.slice(7, -8), runtimesOf(file).join(" ")])
      .filter(([, runtimes]: readonly string[]) => runtimes !== ""),
  );
}

const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1) ?? "";

describe("npm test", () => {
  it("counts the tests of both runtimes, or of one", async () => {
    const both = await run("good");
    assert.deepEqual([both.code, both.last], [0, "2 passed, 0 failed, 2 skipped"]);
    assert.match(both.text, /^\d+ seconds$/m);
    for (const runtime of ["node", "bun"]) {
      const { code, text, last } = await run("good", "--runtime", runtime);
      assert.deepEqual([code, last], [0, "1 passed, 0 failed, 1 skipped"]);
      assert.match(text, new RegExp(`^good .* s  ${runtime} .*good.test.ts  1 passed`, "m"));
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

  it("runs a file on the runtimes of its tag", async () => {
    assert.equal((await run("tagged/")).last, "7 passed, 0 failed, 0 skipped");
    const short = { "tagged/node": "node", "tagged/both": "node bun", "tagged/only-bun": "bun" };
    assert.deepEqual(await runtimesIn("short"), { ...short, good: "bun" });
    const all = { ...short, "tagged/node": "node bun", good: "node bun", "tagged/all": "node bun" };
    assert.deepEqual(await runtimesIn("all"), all);
    assert.deepEqual(await runtimesIn("long"), { ...all, "full.long": "node bun" });
  });

  it("fails where a tag is misspelt, and says which", async () => {
    const { findTests } = await import(join(root, "scripts/test-files.js"));
    const path = join(project, "test/misspelt.test.ts");
    for (const tag of ["@runtimes bth", "@tier long", "@runtimes", "@", "@runtime both"]) {
      await writeFile(path, `// Says what it does.\n// ${tag}\n${sources.good}`);
      const message = `./test/misspelt.test.ts: // ${tag} is not a tag`;
      assert.throws(() => findTests(project, "all", ["misspelt"]), { message });
    }
    const { code, last } = await run("good", "misspelt");
    assert.deepEqual([code, last], [2, "./test/misspelt.test.ts: // @runtime both is not a tag"]);
    await rm(path);
  });

  it("has a process for a file alone where its tag says so, or its hooks need it", async () => {
    const { groupFiles } = await import(join(root, "scripts/test-files.js"));
    const file = (path: string, more = {}) => ({
      path: `./test/${path}.test.ts`,
      source: "",
      ...more,
    });
    const files = [
      file("a"),
      file("http/alone", { process: "own" }),
      file("http/b"),
      file("http/hooks", { source: "\nbeforeEach(() => {});\n" }),
    ];
    const groups = (runtime: string): string[][] =>
      groupFiles(files, runtime).map((group: typeof files) =>
        group.map(({ path }) => path.slice(7, -8)),
      );
    assert.deepEqual(groups("bun"), [["http/alone"], ["a", "http/b", "http/hooks"]]);
    assert.deepEqual(groups("node"), [["http/alone"], ["http/hooks"], ["a", "http/b"]]);
  });

  it("has tags for files that measure memory or change a prototype", async () => {
    const { findTests } = await import(join(root, "scripts/test-files.js"));
    for (const { path, source, process } of findTests(root, "all", []))
      if (/\.\.\/memory\.ts"|\.prototype\.\w+ = /.test(source)) assert.equal(process, "own", path);
  });

  it("names a runtime or a file that does not exist", async () => {
    assert.match((await run("nowhere")).last, /no test file has such a name and runtime/);
    assert.equal((await run("only-bun", "--runtime", "node")).code, 2);
    assert.match((await run("--runtime", "deno")).last, /--runtime must be node or bun/);
  });
});
