// `restante access test`: a table of cases, one line for each, and the exit code.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { restante } from "../src/index.ts";
import { run } from "./process.ts";

const posts = {
  access: {
    read: [
      { name: "team", to: "token", where: { team: { in: "$my.teams" } } },
      { name: "own", to: "owner" },
      { name: "editors", to: { role: "editor" } },
    ],
    update: [{ name: "draft", to: "token", where: { status: "draft" }, fields: ["title"] }],
  },
};
const access = {
  roles: { editor: ["posts:read"] },
  sets: { teams: { collection: "members", where: { user: "$me" }, field: "team" } },
};

const ann = { subject: "ann", scopes: ["posts:*"], collection: "posts" };
const right = [
  { name: "team", ...ann, verb: "read", state: { team: "red" }, expect: true, grant: "team" },
  { name: "owner", ...ann, verb: "read", state: { _owner: "ann" }, expect: 200, grant: "own" },
  { name: "other", ...ann, verb: "read", state: { _owner: "bob" }, expect: 404 },
  { name: "role", ...ann, roles: ["editor"], verb: "read", state: {}, expect: true },
  {
    ...{ ...ann, verb: "update", state: { team: "red", status: "draft" } },
    ...{ change: { status: "sent" }, expect: 403 },
  },
  { verb: "read", collection: "posts", expect: 401 },
];
const wrong = { name: "wrong", ...ann, verb: "read", state: { team: "blue" }, expect: true };

describe("restante access test", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-cases-"));
    await mkdir(join(folder, "definitions"));
    for (const [name, content] of Object.entries({ posts, access, members: {} }))
      await writeFile(join(folder, "definitions", `${name}.json`), JSON.stringify(content));
    const resources = { members: { m: { user: "ann", team: "red" } } };
    for (const [name, content] of Object.entries({
      right: { resources, cases: right },
      wrong: { resources, cases: [...right, wrong] },
      invalid: { cases: [{ verb: "see", collection: "posts", expect: "yes" }] },
      nowhere: { resources: { none: { a: {} } }, cases: right },
    }))
      await writeFile(join(folder, `${name}.json`), JSON.stringify(content));
  });
  after(() => rm(folder, { recursive: true }));

  const test = (file: string, ...flags: string[]) =>
    run(["access", "test", `${file}.json`, ...flags], { cwd: folder });
  const fromFolder = ["--collections", "definitions"];

  it("prints a line for each case, and ends with 0 when all are as expected", async () => {
    const { code, stdout, stderr } = await test("right", ...fromFolder);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.deepEqual(stdout.trimEnd().split("\n"), [
      "ok      team: 200 allowed by team",
      "ok      owner: 200 allowed by own",
      "ok      other: 404 not allowed",
      "ok      role: 200 allowed by editors",
      "ok      ann update posts: 403 not allowed",
      "ok      anonymous read posts: 401 not allowed",
      "6 passed, 0 failed",
    ]);
  });

  it("ends with 1 when a case is not as expected", async () => {
    const { code, stdout } = await test("wrong", ...fromFolder);
    assert.equal(code, 1);
    assert.match(stdout, /^FAILED {2}wrong: 404 not allowed; expected to be allowed$/m);
    assert.match(stdout, /^6 passed, 1 failed$/m);
  });

  it("prints JSON with the explanation of each case", async () => {
    const { code, stdout } = await test("wrong", ...fromFolder, "--json");
    const { passed, failed, cases } = JSON.parse(stdout);
    assert.deepEqual([code, passed, failed, cases.length], [1, 6, 1, 7]);
    const { name, ok, expected, report } = cases[6];
    assert.deepEqual([name, ok, expected, report.status], ["wrong", false, { expect: true }, 404]);
    assert.deepEqual(report.grants[0].where, [
      { field: "team", operator: "in", wanted: ["red"], found: "blue", holds: false },
    ]);
  });

  it("ends with 2 and all errors when the file is not valid", async () => {
    const { code, stderr } = await test("invalid", ...fromFolder);
    assert.equal(code, 2);
    assert.match(stderr, /invalid\.json \/cases\/0\/verb: /);
    assert.match(stderr, /invalid\.json \/cases\/0\/expect: must be true, false or the status/);
    assert.equal((await test("missing", ...fromFolder)).code, 2);
  });

  it("says which resource cannot be stored", async () => {
    const { code, stderr } = await test("nowhere", ...fromFolder);
    assert.equal(code, 1);
    assert.match(stderr, /none\/a cannot be stored: there is no collection of this name/);
  });

  it("takes the definitions of a store, and changes nothing there", async () => {
    const data = join(folder, "data");
    const server = await restante({ data, collections: join(folder, "definitions") });
    await server.close();
    const { code, stdout, stderr } = await test("right", "--data", data);
    assert.deepEqual([code, stderr], [0, ""], stdout);
    assert.match(stdout, /^6 passed, 0 failed$/m);
  });
});
