// `restante export` and `import` as real processes: beside a server, killed in the middle, on a terminal, on a full disk.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { newSecret } from "../../src/model/secret.ts";
import { PostgresServer } from "../postgres-server.ts";
import { commandLine, run, runKilledAt, type ServerProcess, sends, start } from "../process.ts";
import { runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { canInject } from "../store/sqlite/test-directory.ts";

const secret = newSecret();
const headers = { authorization: `Bearer ${secret}` };
const environment = { RESTANTE_ADMIN_TOKEN: secret };
const [program, ...flags] = commandLine;

/** Enough that a command can be killed in the middle. */
const count = runs(3_000, 6_000);
const all = count.toLocaleString("en");
const lines = Array.from({ length: count }, (_, n) => `{"n":${n},"name":"name ${n}"}\n`).join("");

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`restante export and import beside a server, on ${store}`, () => {
    let cwd: string;
    let postgres: PostgresServer | undefined;
    let target: readonly string[];
    let server: ServerProcess;
    before(async () => {
      cwd = await mkdtemp(join(tmpdir(), "restante-commands-"));
      await mkdir(join(cwd, "data"));
      if (store === "postgres") postgres = await PostgresServer.shared();
      const url = await postgres?.preparedDatabase();
      target = url === undefined ? ["--data", "data"] : ["--data", "data", "--store", url];
      server = await start(target, { cwd, environment });
    });
    after(async () => {
      server.signal("SIGTERM");
      await server.ended;
      await postgres?.close();
      await rm(cwd, { recursive: true });
    });

    const restante = (...args: string[]) =>
      run([args[0] ?? "", ...target, ...args.slice(1)], { cwd, environment });

    const killAt = (calls: string, when: number, ...args: string[]) =>
      runKilledAt(calls, when, [args[0] ?? "", ...target, ...args.slice(1)], { cwd, environment });

    /** Starts a command whose end the test decides. */
    const launch = (...args: string[]) =>
      spawn(program, [...flags, args[0] ?? "", ...target, ...args.slice(1)], {
        cwd,
        env: { PATH: process.env.PATH, ...environment },
        stdio: ["pipe", "pipe", "pipe"],
      });

    async function totalOf(collection: string): Promise<number> {
      const response = await fetch(`${server.url}/-/collections/${collection}`, { headers });
      return response.ok ? ((await response.json()) as { total: number }).total : 0;
    }

    it("goes on with an import that was killed, and creates no line twice", async () => {
      writeFileSync(join(cwd, "people.ndjson"), lines);
      // Among the groups that it sends to the owner, or to Postgres, where it has to ask more before.
      const when = store === "sqlite" ? 6 : 50;
      await killAt(sends, when, "import", "--collection", "people", "people.ndjson");
      const isStopped = existsSync(join(cwd, "people.ndjson.importing.json"));
      if (!isStopped) assert.equal(await totalOf("people"), count);
      else {
        const { code, stdout, stderr } = await restante(
          ...["import", "--collection", "people", "people.ndjson", "--json"],
        );
        assert.equal(code, 0, stderr);
        const { imports } = JSON.parse(stdout);
        assert.equal(imports[0].created + imports[0].existing, count);
        assert.match(stderr, /^Going on with the import of people\.ndjson that was stopped\.$/m);
      }
      assert.deepEqual(readdirSync(cwd).toSorted(), ["data", "people.ndjson"]);
      const { code, stdout } = await restante(
        ...["export", "--collection", "people", "--to", "-", "--query", "fields=n&sort=n"],
      );
      assert.equal(code, 0);
      const numbers = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).n);
      assert.deepEqual(
        numbers,
        Array.from({ length: count }, (_, n) => n),
      );
    });

    it("leaves no half file of an export that was killed", async () => {
      const part = () => readdirSync(cwd).filter((name) => name.endsWith(".part"));
      // It syncs the file before it gives it its name.
      const isKilled = await killAt(
        "fsync",
        1,
        "export",
        "--collection",
        "people",
        "--to",
        "all.ndjson",
      );
      assert.deepEqual([isKilled, part().length], canInject() ? [true, 1] : [false, 0]);
      const rows = (name: string) => readFileSync(join(cwd, name), "utf8").split("\n").length - 1;
      if (existsSync(join(cwd, "all.ndjson"))) assert.equal(rows("all.ndjson"), count);
      const { code, stdout, stderr } = await restante(
        ...["export", "--collection", "people", "--to", "all.ndjson", "--json"],
      );
      assert.deepEqual([code, stderr], [0, ""]);
      const { collections, missing } = JSON.parse(stdout);
      assert.deepEqual([collections[0].resources, missing], [count, []]);
      assert.deepEqual([rows("all.ndjson"), part()], [count, []]);
    });

    it("exports a query, and imports from standard input", async () => {
      const query = ["--query", "n[lt]=3&sort=-n&fields=n,name"];
      const exported = await restante(
        ...["export", "--collection", "people", "--to", "few.csv.gz", ...query],
      );
      assert.equal(exported.code, 0, exported.stderr);
      assert.match(exported.stderr, /^people: 3 resources in [\d.]+ s( \([\d,]+\/s\))?\n$/);
      assert.match(
        exported.stdout,
        /^Exported 3 resources of people to few\.csv\.gz \(\d+ bytes\)\.\n$/,
      );
      const csv = gunzipSync(readFileSync(join(cwd, "few.csv.gz"))).toString();
      assert.deepEqual(
        csv.split("\r\n").map((row) => row.replace(/^[^,]+,/, "")),
        ["n,name", "2,name 2", "1,name 1", "0,name 0", ""],
      );
      const child = launch("import", "--collection", "few", "--key", "id", "--format", "csv", "-");
      child.stdin.end(csv);
      const [code] = await once(child, "close");
      assert.deepEqual([code, await totalOf("few")], [0, 3]);
    });

    it("writes to a named pipe, and to what a symbolic link points to", async () => {
      const pipe = join(cwd, "pipe.ndjson");
      spawnSync("mkfifo", [pipe]);
      writeFileSync(join(cwd, "target.ndjson"), "former\n");
      symlinkSync("target.ndjson", join(cwd, "link.ndjson"));
      const few = ["export", "--collection", "people", "--query", "n[lt]=2&fields=n&sort=n"];
      const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
      const piped = await restante(...few, "--to", "pipe.ndjson");
      const read = readFileSync(reader, "utf8");
      closeSync(reader);
      assert.deepEqual([piped.code, piped.stdout], [0, ""], piped.stderr);
      assert.ok(lstatSync(pipe).isFIFO());
      const linked = await restante(...few, "--to", "link.ndjson");
      assert.equal(linked.code, 0, linked.stderr);
      assert.ok(lstatSync(join(cwd, "link.ndjson")).isSymbolicLink());
      assert.equal(readFileSync(join(cwd, "target.ndjson"), "utf8"), read);
      assert.match(read, /^\{"id":"[^"]+","n":0\}\n\{"id":"[^"]+","n":1\}\n$/);
    });

    it("says what is wrong, with an exit code", async () => {
      writeFileSync(join(cwd, "bad.ndjson"), '{"n":1}\n{"n":\n');
      const cases = [
        [
          ["export", "--collection", "people", "--to", "x.ndjson", "--query", "limt=1"],
          2,
          /^--query limt: .*use limit/,
        ],
        [
          ["export", "--collection", "nobody", "--to", "x.ndjson"],
          1,
          /^nobody: There is no collection "nobody"/,
        ],
        [
          ["import", "--collection", "bad", "bad.ndjson"],
          1,
          /^bad\.ndjson line 2: 400 malformed JSON/,
        ],
      ] as const;
      for (const [args, expected, message] of cases) {
        const { code, stderr } = await restante(...args);
        assert.equal(code, expected, stderr);
        assert.match(stderr, message);
      }
      assert.equal(existsSync(join(cwd, "x.ndjson")), false);
      assert.equal(await totalOf("bad"), 1);
    });

    const hasScript =
      process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
    it("shows a bar on a terminal", { skip: !hasScript && "there is no util-linux script" }, () => {
      const args = ["export", ...target, "--collection", "people", "--to", "tty.ndjson"];
      const command = [program, ...flags, ...args].map((word) => `'${word}'`).join(" ");
      const options = { cwd, env: { PATH: process.env.PATH, ...environment } };
      const { stdout } = spawnSync("script", ["-qec", command, "/dev/null"], options);
      const text = stdout.toString().replaceAll("\x1b[K", "<clear>");
      assert.match(
        text,
        new RegExp(`\\rpeople: \\[-+\\] 0 %, 0 of ${all} resources, 0\\/s<clear>`),
      );
      assert.match(
        text,
        new RegExp(`\\rpeople: ${all} resources in [\\d.]+ s( \\([\\d,]+\\/s\\))?<clear>\\r\\n`),
      );
      assert.match(text, new RegExp(`^Exported ${all} resources of people to tty\\.ndjson`, "m"));
    });

    it("leaves nothing when the disk is full", { skip: process.platform === "win32" }, () => {
      const args = ["export", ...target, "--collection", "people", "--to", "full.ndjson"];
      const words = [program, ...flags, ...args];
      const options = { cwd, env: { PATH: process.env.PATH, ...environment } };
      const limited = ["-c", 'ulimit -f 40 && exec "$@"', "sh", ...words];
      const { status, stderr } = spawnSync("sh", limited, options);
      assert.equal(status, 1, stderr.toString());
      assert.match(
        stderr.toString(),
        /Cannot write full\.ndjson: EFBIG.* Nothing is left under this name\./,
      );
      assert.deepEqual(
        readdirSync(cwd).filter((name) => name.startsWith("full")),
        [],
      );
    });
  });
