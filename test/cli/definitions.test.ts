// `restante definitions diff` and `apply`: what changes, what is violated, and what is lost.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { PostgresServer } from "../postgres-server.ts";
import { commandLine, run, type ServerProcess, start } from "../process.ts";
import { storesHere } from "../short-run.ts";

const secret = newSecret();
const environment = { RESTANTE_ADMIN_TOKEN: secret, RESTANTE_FROM_TOKEN: secret };
const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };

for (const store of storesHere("postgres", ["sqlite", "postgres"]))
  describe(`restante definitions beside a server, on ${store}`, () => {
    let cwd: string;
    let postgres: PostgresServer | undefined;
    let target: readonly string[];
    let server: ServerProcess;
    before(async () => {
      cwd = await mkdtemp(join(tmpdir(), "restante-definitions-"));
      await mkdir(join(cwd, "data"));
      await mkdir(join(cwd, "collections"));
      if (store === "postgres") postgres = await PostgresServer.shared();
      const url = await postgres?.preparedDatabase();
      target = url === undefined ? ["--data", "data"] : ["--data", "data", "--store", url];
      server = await start(target, { cwd, environment });
      await put("people", { indexed: ["age", "city"], searchable: ["name"] });
      await put("older", {});
      await put("old", { references: { who: { collection: "older" } } });
      for (const fields of [{ age: 31 }, { age: "old" }]) await post("people", fields);
      await post("old", { n: 1 });
    });
    after(async () => {
      server.signal("SIGTERM");
      await server.ended;
      await postgres?.close();
      await rm(cwd, { recursive: true });
    });

    async function send(method: string, path: string, body: object): Promise<void> {
      const init = { method, headers, body: JSON.stringify(body) };
      const response = await fetch(`${server.url}${path}`, init);
      assert.ok(response.ok, await response.text());
    }
    const put = (name: string, definition: object) =>
      send("PUT", `/-/collections/${name}`, definition);
    const post = (name: string, fields: object) => send("POST", `/${name}`, fields);
    const write = (name: string, content: object) =>
      writeFile(join(cwd, "collections", `${name}.json`), JSON.stringify(content));
    const restante = (verb: "diff" | "apply", ...args: string[]) =>
      run(["definitions", verb, ...target, ...args], { cwd, environment });
    const fromFolder = ["--collections", "collections"];

    it("shows what differs, and applies it with the flags that it needs", async () => {
      const age = { type: "integer" };
      const name = { type: "string" };
      await write("people", { schema: { properties: { age, name } }, indexed: ["age"] });
      // Its rules name a role of the new access document.
      const read = [{ name: "editors", to: { role: "editor" } }];
      await write("orders", { access: { read }, references: { who: { collection: "people" } } });
      await write("access", { roles: { editor: ["people:*"] } });

      const shown = await restante("diff", ...fromFolder);
      assert.equal(shown.code, 1, shown.stderr);
      const lines = shown.stdout.trimEnd().split("\n");
      const expected = [
        /^orders: new$/,
        /^people: changed (?=.*schema)(?=.*indexed)(?=.*searchable)[\w, ]+$/,
        /^ {2}destructive: drops the index on city$/,
        /^ {2}destructive: drops the search in name$/,
        /^ {2}violations: 1 of 2 resources do not match, such as [\w-]+: \/age must be a whole number/,
        /^old: only in the target, with 1 resource; it stays$/,
        /^older: only in the target, with 0 resources; it stays$/,
        /^the access document: changed$/,
        /^0 collections with the same definition$/,
      ];
      assert.equal(lines.length, expected.length, shown.stdout);
      for (const [index, pattern] of expected.entries()) assert.match(lines[index] ?? "", pattern);

      for (const [flags, needed] of [
        [[], "--allow-destructive and --yes"],
        [["--allow-destructive"], "--yes"],
      ] as const) {
        const { code, stderr } = await restante("apply", ...fromFolder, ...flags);
        assert.deepEqual([code, stderr], [1, `Nothing was applied. It needs ${needed}.\n`]);
      }
      assert.equal((await fetch(`${server.url}/-/collections/orders`, { headers })).status, 404);

      const flags = ["--yes", "--allow-destructive"];
      const applied = await restante("apply", ...fromFolder, ...flags);
      assert.deepEqual([applied.code, applied.stderr], [0, ""]);
      assert.match(applied.stdout, /^Applied\.$/m);
      const after = await restante("diff", ...fromFolder, "--json");
      assert.equal(after.code, 0);
      assert.equal(JSON.parse(after.stdout).isSame, true);
      assert.match((await restante("apply", ...fromFolder)).stdout, /^Nothing to apply\.$/m);
    });

    it("deletes collections only with two flags", async () => {
      const shown = await restante("diff", ...fromFolder, "--prune");
      assert.equal(shown.code, 1);
      assert.match(
        shown.stdout,
        /^old: only in the target\n {2}destructive: deletes the collection/m,
      );
      const { code } = await restante("apply", ...fromFolder, "--prune");
      assert.equal(code, 1);
      const pruned = await restante("apply", ...fromFolder, "--prune", "--allow-destructive");
      assert.equal(pruned.code, 0, pruned.stderr);
      for (const name of ["old", "older"]) {
        const response = await fetch(`${server.url}/-/collections/${name}`, { headers });
        assert.equal(response.status, 404);
      }
    });

    const hasScript =
      process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
    const skip = !hasScript && "there is no util-linux script";
    it("asks on a terminal", { skip }, async () => {
      await write("people", {});
      for (const [answer, last] of [
        ["no", /Nothing was applied\./],
        ["yes", /Applied\./],
      ] as const) {
        const words = [...commandLine, "definitions", "apply", ...target, ...fromFolder];
        const command = words.map((word) => `'${word}'`).join(" ");
        const env = { PATH: process.env.PATH, ...environment };
        const child = spawn("script", ["-qec", command, "/dev/null"], { cwd, env });
        let text = "";
        child.stdout.setEncoding("utf8").on("data", (chunk) => {
          const isAsked = text.includes("Type yes: ");
          text += chunk;
          if (!isAsked && text.includes("Type yes: ")) child.stdin.write(`${answer}\n`);
        });
        const [code] = await once(child, "close");
        assert.match(text, last);
        assert.equal(code, answer === "yes" ? 0 : 1, text);
      }
    });

    it("takes definitions from another server, and rejects those that cannot hold", async () => {
      await mkdir(join(cwd, "other"));
      const args = ["definitions", "apply", "--data", "other", "--from", server.url, "--json"];
      const copied = await run(args, { cwd, environment });
      assert.equal(copied.code, 0, copied.stderr);
      const { collections, isApplied } = JSON.parse(copied.stdout);
      assert.deepEqual(
        [
          collections.map((each: { name: string; state: string }) => [each.name, each.state]),
          isApplied,
        ],
        [
          [
            ["orders", "new"],
            ["people", "new"],
          ],
          true,
        ],
      );
      const back = await restante("diff", "--from", "other");
      assert.deepEqual([back.code, back.stdout], [0, "2 collections with the same definition\n"]);
      // Two resources have the same value.
      await post("people", { age: 31 });
      await write("people", { unique: ["age"] });
      const rejected = await restante("apply", ...fromFolder, "--yes", "--allow-destructive");
      assert.equal(rejected.code, 1, rejected.stdout);
      const without = await run(["definitions", "diff", ...target, "--from", server.url], { cwd });
      assert.equal(without.code, 2);
      assert.match(without.stderr, /put an admin token of it into RESTANTE_FROM_TOKEN/);
    });
  });
