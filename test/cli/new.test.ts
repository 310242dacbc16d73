// `restante new`: the whole app or nothing, names and folders that it refuses, and what the template has.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { templateFiles, version } from "../../src/lib/program.ts";
import { startApp } from "../http/app.ts";
import { buildPackages } from "../npm-package.ts";
import { run, runOnFullDisk } from "../process.ts";
import { describeOn } from "../short-run.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const template = join(root, "templates/app");
const cwd = mkdtempSync(join(tmpdir(), "restante-new-"));
after(() => rmSync(cwd, { recursive: true }));
buildPackages();
const packed = [`restante-${version}.tgz`, `restante-client-${version}.tgz`];

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

const packageOf = (folder: string) =>
  JSON.parse(readFileSync(join(cwd, folder, "package.json"), "utf8"));

describe("restante new", () => {
  it("writes every file of the template, and says what to run", async () => {
    const { code, stdout, stderr } = await run(["new", "my-shop"], { cwd });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(
      stdout,
      /^Wrote my-shop\. Run it:\n\n {2}cd my-shop\n {2}npm install\n {2}npm run dev\n$/,
    );
    const expected = [...templateFiles().keys()].map((path) => path.replace("_git", ".git"));
    assert.deepEqual(filesIn(join(cwd, "my-shop")), [...expected, ...packed].sort());
    assert.ok(expected.length > 15 && expected.includes(".gitignore"));
    const { name, dependencies } = packageOf("my-shop");
    const named = [dependencies.restante, dependencies["restante-client"]];
    assert.deepEqual([name, ...named], ["my-shop", ...packed.map((file) => `file:./${file}`)]);
    assert.match(readFileSync(join(cwd, "my-shop/README.md"), "utf8"), /^# my-shop\n/);
    assert.deepEqual(readdirSync(cwd), ["my-shop"]);
    const page = readFileSync(join(root, "docs/new.md"), "utf8");
    const shown = stdout.replace("cd my-shop", "cd ../my-app").replace("my-shop", "my-app");
    assert.ok(page.includes(shown), "docs/new.md shows it");
  });

  it("takes a path, an empty folder, and a name", async () => {
    mkdirSync(join(cwd, "deep/My Shop"), { recursive: true });
    const args = ["new", "deep/My Shop", "--name", "@ann/shop", "--json"];
    const { code, stdout, stderr } = await run(args, { cwd });
    assert.deepEqual([code, stderr], [0, ""]);
    const { folder, name, files } = JSON.parse(stdout);
    assert.deepEqual([folder, name], [join(cwd, "deep/My Shop"), "@ann/shop"]);
    assert.equal(filesIn(folder).length, files);
    assert.equal(packageOf("deep/My Shop").name, "@ann/shop");
  });

  it("refuses what is there, and changes nothing", async () => {
    const before = filesIn(cwd);
    const refused = await run(["new", "my-shop"], { cwd });
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(refused.stderr, /^my-shop is not empty, so nothing was written\./);
    const here = await run(["new", "."], { cwd: join(cwd, "deep") });
    assert.equal(here.code, 1);
    assert.match(here.stderr, /is where you are/);
    const file = await run(["new", "my-shop/index.html"], { cwd });
    assert.equal(file.code, 1);
    assert.match(file.stderr, /^Cannot write .*index\.html: /);
    assert.deepEqual(filesIn(cwd), before);
  });

  it("leaves nothing on a full disk", async () => {
    const before = readdirSync(cwd);
    const { code, stderr } = await runOnFullDisk(2, ["new", "no-space"], cwd);
    assert.equal(code, 1);
    assert.match(stderr, /^Cannot write .*no-space: /);
    assert.deepEqual(readdirSync(cwd), before);
  });
});

describeOn("bun", "restante new", () => {
  it("refuses what cannot be the name of a package", async () => {
    for (const [args, where] of [
      [["My Shop"], "folder"],
      [["new-shop", "--name", "_shop"], "--name"],
    ] as const) {
      const { code, stderr } = await run(["new", ...args], { cwd });
      assert.equal(code, 2);
      assert.match(stderr, new RegExp(`^${where}: ".*" cannot be the name of a package: `));
    }
    assert.equal((await run(["new"], { cwd })).code, 2);
    assert.equal(existsSync(join(cwd, "new-shop")), false);
  });
});

describeOn("bun", "the template", () => {
  it("has the types of its definitions", async () => {
    const collections = join(template, "collections");
    const { stdout } = await run(["types", "--collections", collections], { cwd });
    assert.equal(readFileSync(join(template, "src/collections.ts"), "utf8"), stdout);
  });

  it("has samples that its definition accepts", async () => {
    const app = await startApp({ collections: join(template, "collections") });
    try {
      const definition = readFileSync(join(template, "collections/products.json"), "utf8");
      const headers = { "content-type": "application/json" };
      const put = { method: "PUT", headers, body: definition };
      assert.equal((await app.request("/-/collections/products", put)).status, 201);
      const samples = readFileSync(join(template, "samples/products.ndjson"), "utf8");
      const lines = { "content-type": "application/x-ndjson" };
      await app.request("/products", { method: "POST", headers: lines, body: samples });
      assert.equal(await app.total("products"), samples.trim().split("\n").length);
    } finally {
      await app.stop();
    }
  });
});
