// Export and import in one process: what comes back, what is rejected, and how a stopped import goes on.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile as writeFilePromise } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { exportFolder } from "../../src/cli/export-folder.ts";
import { type ImportOptions, importFile } from "../../src/cli/import.ts";
import { importFolder } from "../../src/cli/import-folder.ts";
import { importLines } from "../../src/cli/import-lines.ts";
import { ImportReport } from "../../src/cli/import-report.ts";
import { ImportState, statePath } from "../../src/cli/import-state.ts";
import { inputState } from "../../src/cli/input-file.ts";
import { Progress } from "../../src/cli/progress.ts";
import { localUrl } from "../../src/cli/system-request.ts";
import { CliError } from "../../src/lib/cli-error.ts";
import { type App, assemble } from "../../src/server/app.ts";
import { defaultConfig } from "../../src/server/config.ts";
import { createLog } from "../../src/server/log.ts";
import { PostgresServer } from "../postgres-server.ts";
import { itOn } from "../short-run.ts";

let folder: string;
let postgres: Promise<PostgresServer> | undefined;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-import-"));
});
after(async () => {
  await (await postgres)?.close();
  await rm(folder, { recursive: true });
});

let made = 0;
async function openApp(store: string): Promise<App> {
  const data = join(folder, `data${made++}`);
  await mkdir(data);
  if (store === "postgres") postgres ??= PostgresServer.shared();
  const url = store === "postgres" ? await (await postgres)?.preparedDatabase() : undefined;
  return assemble({ ...defaultConfig, data, store: url, logLevel: "silent" }, createLog("silent"));
}

async function call(app: App, method: string, path: string, body?: unknown): Promise<unknown> {
  const headers = { "content-type": "application/json", "transfer-encoding": "chunked" };
  const init = body === undefined ? {} : { body: JSON.stringify(body), headers };
  const response = await app.systemFetch(new Request(localUrl(path), { method, ...init }));
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

const listOf = async (app: App, path: string): Promise<readonly Record<string, unknown>[]> =>
  ((await call(app, "GET", path)) as { data: readonly Record<string, unknown>[] }).data;

/** Returns 0 for a collection that does not exist. */
async function totalOf(app: App, collection: string): Promise<number> {
  const response = await app.systemFetch(new Request(localUrl(`/-/collections/${collection}`)));
  return response.ok ? ((await response.json()) as { total: number }).total : 0;
}

/** Without the times, which are those of the import. */
const contentOf = async (app: App, collection: string) =>
  (await listOf(app, `/${collection}?limit=1000&fields=*,_owner`)).map(
    ({ createdAt: _, updatedAt: __, ...rest }) => rest,
  );

const byId = (resources: readonly Record<string, unknown>[]) =>
  resources.toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1));

const silent = () => new Progress({ output: { write: () => undefined }, isJson: true });
const newReport = () => new ImportReport(silent(), true);

async function importText(
  app: App,
  name: string,
  content: string | Uint8Array,
  options: Omit<ImportOptions, "collection"> & { readonly collection: string },
) {
  const path = join(folder, name);
  writeFileSync(path, content);
  const report = newReport();
  (await importFile(app, path, options, report))?.remove();
  return JSON.parse(JSON.stringify(report));
}

for (const store of ["sqlite", "postgres"])
  describe(`export and import, on ${store}`, () => {
    const it = itOn(store);
    let app: App;
    before(async () => {
      app = await openApp(store);
      const schema = {
        properties: { sku: { type: "string" }, price: { type: "number" } },
        required: ["sku"],
      };
      await call(app, "PUT", "/-/collections/goods", { schema, unique: ["sku"] });
    });
    after(() => app.close());

    it("brings the description of a file back, without the URL of bytes that are not there", async () => {
      const schema = { required: ["photo"], properties: { photo: { format: "file" } } };
      await call(app, "PUT", "/-/collections/shown", { schema });
      const photo = { name: "a.png", type: "image/png", size: 1, sha256: "00" };
      const line = { id: "one", photo: { ...photo, url: "/shown/one/photo" } };
      const text = `${JSON.stringify(line)}\n`;
      await importText(app, "shown.ndjson", text, { collection: "shown", key: "id" });
      assert.deepEqual(
        await (await contentOf(app, "shown")).map(({ _owner: _, ...rest }) => rest),
        [{ id: "one", photo }],
      );
      await call(app, "DELETE", "/-/collections/shown?confirm=shown");
    });

    it("brings a whole server back, in both formats", async () => {
      const access = { roles: { editor: ["notes:*"] }, sets: {} };
      await call(app, "PUT", "/-/access", access);
      const owned = { access: { read: "owner", update: "owner" } };
      // It comes before what it refers to.
      const references = { note: { collection: "notes" }, next: { collection: "answers" } };
      await call(app, "PUT", "/-/collections/notes", owned);
      await call(app, "PUT", "/-/collections/answers", { references });
      await call(app, "PUT", "/-/collections/access", {});
      await call(app, "POST", "/access", { text: "a collection of this name" });
      for (const id of ["n1", "n2"]) await call(app, "PUT", `/notes/${id}`, { text: `${id}, "a"` });
      await call(app, "PATCH", "/notes/n1", { _owner: "ann" });
      const answers = Array.from({ length: 600 }, (_, n) => ({ id: `a${n}`, note: "n1", n }));
      const text = answers.map((each) => `${JSON.stringify(each)}\n`).join("");
      await importText(app, "answers.ndjson", text, { collection: "answers", key: "id" });
      // Refers to a line of a later group.
      await call(app, "PATCH", "/answers/a0", { next: "a599" });
      for (const format of ["ndjson", "csv.zst"]) {
        const to = join(folder, `all-${store}-${format}`);
        const other = await openApp(store);
        try {
          const exported = await exportFolder(app, { to, format }, silent());
          assert.deepEqual(
            exported.map(({ name, resources }) => [name, resources]),
            [
              ["access", 1],
              ["answers", 600],
              ["goods", 0],
              ["notes", 2],
            ],
          );
          const report = newReport();
          await importFolder(other, to, undefined, report);
          // Again: everything is replaced by itself.
          await importFolder(other, to, undefined, newReport());
          assert.equal(report.isAnyRejected, false, JSON.stringify(report));
          for (const name of ["access", "answers", "goods", "notes"]) {
            // A line that refers to a later one is created after it.
            assert.deepEqual(byId(await contentOf(other, name)), byId(await contentOf(app, name)));
            const path = `/-/collections/${name}`;
            const [before, after] = [await call(app, "GET", path), await call(other, "GET", path)];
            const definitionOf = (each: unknown) => (each as { definition: unknown }).definition;
            assert.deepEqual(definitionOf(after), definitionOf(before));
          }
          assert.deepEqual(await call(other, "GET", "/-/access"), access);
          await call(other, "PUT", "/-/collections/notes", {});
          await assert.rejects(importFolder(other, to, undefined, newReport()), (thrown) => {
            assert.ok(thrown instanceof CliError);
            assert.match(thrown.message, /^Nothing was imported: .*other definitions: notes\. /);
            return true;
          });
        } finally {
          await other.close();
        }
      }
      await assert.rejects(
        exportFolder(app, { to: join(folder, `all-${store}-ndjson`) }, silent()),
        /is not empty/,
      );
    });

    it("takes the export of a server without a collection", async () => {
      const to = join(folder, `none-${store}`);
      const empty = await openApp(store);
      try {
        await exportFolder(empty, { to }, silent());
        await importFolder(empty, to, undefined, newReport());
        await assert.rejects(importFolder(empty, to, "goods", newReport()), /no collection goods/);
      } finally {
        await empty.close();
      }
    });

    it("reports the lines, in a dry run and for real", async () => {
      const csv = "sku,price\nA1,9.5\nB2,cheap\nC3,3\n,4\n";
      const options = { collection: "goods", key: "sku" };
      const errors = [
        { line: 3, status: 400, detail: "/price must be a number, not text" },
        {
          ...{ line: 5, status: 400 },
          detail: "/sku a value is needed here: it says which resource is created or replaced",
        },
      ].map((each) => ({ file: join(folder, "p.csv"), ...each }));
      const counts = { collection: "goods", file: join(folder, "p.csv"), lines: 4, rejected: 2 };
      assert.deepEqual(await importText(app, "p.csv", csv, { ...options, dryRun: true }), {
        imports: [{ ...counts, created: 2, replaced: 0, existing: 0, dryRun: true }],
        errors,
      });
      assert.deepEqual(await contentOf(app, "goods"), []);
      assert.deepEqual(await importText(app, "p.csv", csv, options), {
        imports: [{ ...counts, created: 2, replaced: 0, existing: 0 }],
        errors,
      });
      const again = await importText(app, "p.csv", csv, options);
      assert.deepEqual(again.imports, [{ ...counts, created: 0, replaced: 2, existing: 0 }]);
      await assert.rejects(
        importText(app, "p.csv", csv, { collection: "goods", key: "price" }),
        (thrown) =>
          thrown instanceof CliError && thrown.code === 2 && /^--key: /.test(thrown.message),
      );
    });

    it("advises what the command takes, not what the API does", async () => {
      const { errors } = await importText(app, "i.csv", "id,sku\nx,A1\n", { collection: "goods" });
      assert.equal(
        errors[0]?.detail,
        "/id leave the id out, or use --key id to create or replace by id",
      );
    });

    it("creates a collection, with the key as a unique field", async () => {
      const options = { collection: "fresh", key: "email", types: "infer" };
      const { imports } = await importText(app, "f.csv", "email,n\na@x,1\nb@x,2\n", options);
      assert.equal(imports[0].created, 2);
      const [first] = await contentOf(app, "fresh");
      assert.deepEqual({ ...first, id: "" }, { id: "", email: "a@x", n: 1, _owner: null });
      const { definition } = (await call(app, "GET", "/-/collections/fresh")) as {
        definition: unknown;
      };
      assert.deepEqual(definition, { unique: ["email"] });
    });

    it("imports nothing of a damaged or truncated file", async () => {
      const text = Buffer.from('{"a":1}\n'.repeat(50_000));
      for (const [name, whole] of [
        ["d.ndjson.gz", gzipSync(text)],
        ["d.ndjson.zst", zstdCompressSync(text)],
      ] as const) {
        const damaged = Buffer.from(whole);
        damaged.fill(0xff, damaged.length >> 1, (damaged.length >> 1) + 8);
        for (const content of [whole.subarray(0, whole.length - 9), damaged])
          await assert.rejects(
            importText(app, name, content, { collection: "damaged" }),
            (thrown) =>
              thrown instanceof CliError &&
              thrown.message.endsWith(
                "it is not one complete and valid " +
                  `${name.endsWith("gz") ? "gzip" : "zstd"} file.`,
              ),
          );
        assert.equal(existsSync(statePath(join(folder, name))), false);
      }
      const response = await app.systemFetch(new Request(localUrl("/damaged")));
      assert.equal(response.status, 404);
      // Data that is compressed very well is not rejected, as it would be from the network.
      const zeros = zstdCompressSync(Buffer.from(`{"a":"${"0".repeat(900_000)}"}\n`.repeat(3)));
      const { imports } = await importText(app, "z.ndjson.zst", zeros, { collection: "zeros" });
      assert.equal(imports[0].created, 3);
    });

    it("rejects text in another encoding, and reads it when it is named", async () => {
      const latin = Buffer.from("name\nJosé\n", "latin1");
      const wrong = await importText(app, "l.csv", latin, { collection: "names" });
      assert.match(wrong.errors[0].detail, /^not valid UTF-8: /);
      await importText(app, "l.csv", latin, { collection: "names", encoding: "windows-1252" });
      assert.deepEqual(
        (await contentOf(app, "names")).map(({ name }) => name),
        ["José"],
      );
    });

    it("goes on after it was stopped, and creates no line twice", async () => {
      const path = join(folder, "stopped.ndjson");
      const lines = Array.from({ length: 1_300 }, (_, n) => `{"n":${n}}\n`);
      writeFileSync(path, lines.join(""));
      const state = await ImportState.open(path, "stopped", inputState(path) ?? assert.fail());
      assert.equal(state.isResumed, false);
      const format = { type: "ndjson", coding: undefined, extension: "ndjson" } as const;
      const work = { collection: "stopped", format, key: undefined, isDryRun: false };
      async function* untilStopped(): AsyncGenerator<Uint8Array> {
        yield Buffer.from(lines.slice(0, 700).join(""));
        while ((await totalOf(app, "stopped")) < 700) await nextTurn();
        throw new CliError(1, "stopped");
      }
      await assert.rejects(
        importLines(
          app,
          { ...work, encoding: undefined, parameters: {}, idOf: (line) => state.idOf(line) },
          untilStopped(),
          () => undefined,
        ),
      );
      const report = newReport();
      await importFile(app, path, { collection: "stopped" }, report);
      const { imports } = JSON.parse(JSON.stringify(report));
      assert.deepEqual([imports[0].created, imports[0].existing], [600, 700]);
      // The command is killed before it has reported the end.
      const again = newReport();
      const done = await importFile(app, path, { collection: "stopped" }, again);
      const [repeated] = JSON.parse(JSON.stringify(again)).imports;
      assert.deepEqual([repeated.created, repeated.existing], [0, 1_300]);
      done?.remove();
      const numbers = (await contentOf(app, "stopped")).map(({ n }) => n);
      assert.deepEqual(
        numbers,
        lines.slice(0, 1_000).map((_, n) => n),
      );
      assert.equal(existsSync(statePath(path)), false);
      // The import is complete, so the same file is another import.
      const next = await importFile(app, path, { collection: "stopped" }, newReport());
      assert.equal(await totalOf(app, "stopped"), 2_600);
      next?.remove();
    });

    it("remembers nothing of a file that is rejected as a whole", async () => {
      const path = join(folder, `rejected-${store}.csv`);
      const rejects = async (text: string, collection: string, message: string) => {
        writeFileSync(path, text);
        const rejected = importFile(app, path, { collection }, newReport());
        await assert.rejects(rejected, { name: "Error", message });
        assert.equal(existsSync(statePath(path)), false);
      };
      await rejects("", "sheets", "sheets: a header row is needed");
      await rejects(
        "a,,b\n",
        "sheets",
        "sheets: column 2 has no name; remove it, or give it a name",
      );
      await rejects(
        "a\n1\n",
        "my sheets",
        "my sheets: There is nothing at this address. A collection name has 1 to 63 characters of a-z, 0-9, _ and -, and starts with a letter or digit.",
      );
      (await importFile(app, path, { collection: "sheets" }, newReport()))?.remove();
      assert.equal(await totalOf(app, "sheets"), 1);
    });

    it("reads a named pipe once, and writes nothing beside it", async () => {
      const path = join(folder, `pipe-${store}.ndjson.gz`);
      execFileSync("mkfifo", [path]);
      const written = writeFilePromise(path, gzipSync('{"n":1}\n{"n":2}\n'));
      const state = await importFile(app, path, { collection: "piped" }, newReport());
      await written;
      assert.equal(state, undefined);
      assert.equal(await totalOf(app, "piped"), 2);
      assert.equal(existsSync(statePath(path)), false);
    });

    it("does not go on when the file has changed", async () => {
      const path = join(folder, `changed-${store}.ndjson`);
      writeFileSync(path, "{}\n");
      await ImportState.open(path, "changed", inputState(path) ?? assert.fail());
      writeFileSync(path, "{}\n{}\n");
      await assert.rejects(
        importFile(app, path, { collection: "changed" }, newReport()),
        /changed-\w+\.ndjson has changed since an import of it was stopped\. .*delete .*importing\.json/,
      );
      assert.deepEqual(
        readdirSync(folder).filter((name) => name.endsWith(".part")),
        [],
      );
      assert.ok(readFileSync(statePath(path), "utf8").startsWith("{"));
    });
  });
