// Reloading settings while the server runs: what changes, what does not, faults, load and kills, with one process and many.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { newSecret } from "../src/model/secret.ts";
import { json, requestSender, type SendRequest } from "./acknowledged-writes.ts";
import { PostgresServer } from "./postgres-server.ts";
import { childrenOf, type ServerProcess, start } from "./process.ts";
import { isLong, runs, within } from "./seeds.ts";

const patience = within(300_000);
const onLinux = process.platform === "linux";
const secret = newSecret();

let cwd: string;
let running: ServerProcess;
let ask: SendRequest;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-reload-"));
  for (const folder of ["rules", "handlers"]) await mkdir(join(cwd, folder));
});
afterEach(async () => {
  running.signal("SIGKILL");
  await running.ended;
  await rm(cwd, { recursive: true, force: true });
});

const write = (path: string, text: string) => writeFile(join(cwd, path), text);
const settle = (values: object) =>
  write("restante.json", JSON.stringify({ collections: "rules", actions: "handlers", ...values }));
const action = (result: string, before = "") =>
  write(
    "handlers/ring.ts",
    `${before}export const description = "x", input = {}, run = () => ${result};`,
  );

async function open(...args: readonly string[]): Promise<void> {
  const environment = { RESTANTE_ADMIN_TOKEN: secret, RESTANTE_MAX_CASCADE: "7" };
  running = await start(args, { cwd, environment });
  ask = requestSender(running.url, secret);
}

const reload = () => ask("/-/settings", { method: "POST" });
const ring = async () => (await ask("/-/actions/ring", json("POST", {}))).body;

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(20);
}

/** Asks on new connections, so that every process answers. */
async function everywhere<T>(question: () => Promise<T>): Promise<readonly T[]> {
  const answers: T[] = [];
  for (let turn = 0; turn < 12; turn++) answers.push(await question());
  return answers;
}

const fetchAlone = (path: string) =>
  fetch(running.url + path, {
    headers: { authorization: `Bearer ${secret}`, origin: "https://a.test", connection: "close" },
  });

const allowedOrigin = async () =>
  (await fetchAlone("/-/health")).headers.get("access-control-allow-origin");

/** Writes and reads until it is stopped; each request must be answered as without a reload. */
function load(): { stop(): Promise<number> } {
  let isOver = false;
  let count = 0;
  const client = async () => {
    while (!isOver) {
      assert.equal((await ask("/people", json("POST", { name: "Ann" }))).status, 201);
      assert.equal((await ask("/people?limit=1")).status, 200);
      count += 2;
    }
  };
  const clients = Promise.all(Array.from({ length: 4 }, client));
  return {
    async stop() {
      isOver = true;
      await clients;
      return count;
    },
  };
}

/** As editors save: to another file, which replaces the former. */
async function save(path: string, text: string): Promise<void> {
  await write(`${path}.tmp`, text);
  await rename(join(cwd, `${path}.tmp`), join(cwd, path));
}

/** How often a line with this message was logged. */
const countLines = (message: string) => running.stdout().split(message).length - 1;

describe("--watch", () => {
  it(
    "reloads on each change, reports faults, and finds folders that appear later",
    patience,
    async () => {
      await settle({ corsOrigins: "none" });
      await action("1");
      await open("--watch");
      await save(
        "restante.json",
        '{"corsOrigins": "*", "actions": "handlers", "collections": "later"}',
      );
      await until(() => running.stdout().includes("cannot read the folder"));
      assert.equal(await allowedOrigin(), null);
      await mkdir(join(cwd, "later"));
      await until(async () => (await allowedOrigin()) === "*");
      await save("later/people.json", '{"schema":{"type":"object"}}');
      await until(async () => (await ask("/-/collections/people")).status === 200);
      await save("later/people.json", '{\n"schema": {,}}');
      await until(() => /people\.json.*line 2, column 12/.test(running.stdout()));
      await save("later/people.json", "{}");
      const before = countLines("cannot be reloaded");
      await action("", "const one = 1;\nconst two = ;\n");
      await until(() => countLines("cannot be reloaded") > before);
      assert.match(running.stdout(), /ring\.ts:2/);
      assert.equal(await ring(), "1");
      await action("2");
      await until(async () => (await ring()) === "2");
      await rm(join(cwd, "handlers/ring.ts"));
      await until(async () => (await ask("/-/actions/ring", json("POST", {}))).status === 404);
    },
  );
});

/** Changes settings, definitions and actions under load. */
async function changeUnderLoad(...flags: readonly string[]): Promise<void> {
  await settle({ corsOrigins: "none", maxCascade: 8 });
  await action("1");
  await open(...flags);
  assert.equal((await ask("/people", json("POST", { name: "Ann" }))).status, 201);
  assert.deepEqual(new Set(await everywhere(allowedOrigin)), new Set([null]));
  const clients = load();
  for (let turn = 0; turn < runs(4, 40); turn++) {
    await settle({ corsOrigins: turn % 2 === 0 ? ["https://a.test"] : "none" });
    assert.equal((await reload()).status, 200);
  }
  await settle({ corsOrigins: "*", maxBodyBytes: 100, port: 1, maxCounted: 5, maxCascade: 9 });
  await write("rules/people.json", '{"schema":{"type":"object","required":["name"]}}');
  await action("2");
  const { status, body } = await reload();
  assert.deepEqual(
    [status, JSON.parse(body)],
    [
      200,
      {
        changed: ["corsOrigins", "maxBodyBytes"],
        needRestart: ["maxCounted"],
        defined: ["people"],
      },
    ],
  );
  assert.ok((await clients.stop()) > 0);
  assert.deepEqual(new Set(await everywhere(allowedOrigin)), new Set(["*"]));
  assert.deepEqual(new Set(await everywhere(ring)), new Set(["2"]));
  const settings = new Set(await everywhere(async () => (await fetchAlone("/-/settings")).text()));
  assert.equal(settings.size, 1, "every process shows the same");
  const { data } = JSON.parse([...settings][0] ?? "");
  const shown = new Map(data.map((each: { name: string }) => [each.name, each]));
  const from = join(cwd, "restante.json");
  assert.deepEqual(shown.get("maxBodyBytes"), {
    ...{ name: "maxBodyBytes", value: 100, source: "file", from, reloadable: true },
  });
  assert.deepEqual(shown.get("maxCounted"), {
    ...{ name: "maxCounted", value: 1_000_000, source: "default", from: null },
    reloadable: false,
  });
  assert.deepEqual(shown.get("maxCascade"), {
    ...{ name: "maxCascade", value: 7, source: "environment", from: "RESTANTE_MAX_CASCADE" },
    reloadable: true,
  });
  const large = json("POST", { name: "x".repeat(200) });
  assert.equal((await ask("/people", large)).status, 413);
  assert.match((await ask("/people", json("POST", {}))).body, /invalid-body/);
}

/** Each test has one process or two in `npm test`, and both in the long run. */
for (const workers of onLinux ? [1, 2] : [1]) {
  describe(`a reload with ${workers} process${workers > 1 ? "es" : ""}`, () => {
    const flags = ["--workers", String(workers)];
    const alone = { ...patience, skip: workers > 1 && !isLong && "in the long run" };
    const many = { ...patience, skip: workers === 1 && onLinux && !isLong && "in the long run" };

    it("uses what can change and names what cannot, and drops no request", many, () =>
      changeUnderLoad(...flags),
    );

    it("changes nothing when anything is invalid, and reports every fault", alone, async () => {
      await settle({ corsOrigins: "none" });
      await action("1");
      await open(...flags);
      await settle({ corsOrigins: "*", maxBodyBytes: -1, logLevel: "loud", prot: 1 });
      const config = await reload();
      assert.equal(config.status, 409);
      for (const word of ["maxBodyBytes", "loud", '\\"prot\\"'])
        assert.ok(config.body.includes(word), word);
      await settle({ corsOrigins: "*" });
      await write("rules/people.json", '{"schema":{"type":"thing"}}');
      await write("rules/orders.json", '{"schema":');
      await action("", "let x: number = ;\n");
      const folders = JSON.parse((await reload()).body);
      for (const word of ["rules/people.json", "rules/orders.json", "handlers/ring.ts:1"])
        assert.ok(folders.detail.includes(word), `${word}: ${folders.detail}`);
      assert.deepEqual(new Set(await everywhere(allowedOrigin)), new Set([null]));
      assert.deepEqual(new Set(await everywhere(ring)), new Set(["1"]));
      assert.equal((await ask("/-/collections/people")).status, 404);
      await write("restante.json", "{");
      assert.equal((await reload()).status, 409);
      // An import of what a helper does not export, and then one that works.
      await settle({ corsOrigins: "*" });
      await rm(join(cwd, "rules/orders.json"));
      await write("rules/people.json", "{}");
      await write("handlers/_tone.ts", "export const other = 1;");
      await action("tone", 'import { tone } from "./_tone.ts";\n');
      assert.equal((await reload()).status, 409);
      await write("handlers/_tone.ts", "export const tone: number = 3;");
      assert.equal((await reload()).status, 200, "it is repaired");
      await write("handlers/_tone.ts", "export const tone: number = 4;");
      assert.equal((await reload()).status, 200);
      assert.deepEqual(new Set(await everywhere(ring)), new Set(["4"]));
    });

    it("leaves the roles and definitions when one of the folder is refused", alone, async () => {
      const grantTo = (role: string) =>
        JSON.stringify({
          access: { read: [{ name: "a", to: { role }, where: { owner: "$me" } }] },
        });
      await settle({ corsOrigins: "none" });
      await write("rules/access.json", '{"roles":{"editor":["people:read"]}}');
      await write("rules/people.json", grantTo("editor"));
      await open(...flags);
      const paths = ["/-/access", "/-/collections/people/definition", "/-/collections/zoo"];
      const read = () =>
        Promise.all(
          paths.map(async (path) => {
            const { status, headers, body } = await ask(path);
            return [status, headers.get("etag"), status === 200 && body];
          }),
        );
      const before = await read();
      assert.deepEqual(
        before.map(([status]) => status),
        [200, 200, 404],
      );
      await settle({ corsOrigins: "*" });
      await write("rules/access.json", '{"roles":{"author":[]}}');
      await write("rules/people.json", grantTo("author"));
      await write("rules/zoo.json", grantTo("keeper"));
      const refused = await reload();
      assert.equal(refused.status, 409);
      assert.match(JSON.parse(refused.body).detail, /zoo\.json .*keeper/);
      assert.deepEqual(await read(), before);
      assert.deepEqual(new Set(await everywhere(allowedOrigin)), new Set([null]));
      await write("rules/zoo.json", grantTo("author"));
      assert.equal((await reload()).status, 200);
      const after = await read();
      assert.deepEqual(JSON.parse(String(after[0]?.[2])).roles, { author: [] });
      assert.deepEqual(
        after.map(([status]) => status),
        [200, 200, 200],
      );
    });

    it("lets a request in progress end with the settings that it began with", alone, async () => {
      await settle({ maxBodyBytes: 1_000 });
      await open(...flags);
      const body = JSON.stringify({ name: "x".repeat(200) });
      const socket = connect(running.port, new URL(running.url).hostname).setEncoding("utf8");
      const head = [
        ...["POST /people HTTP/1.1", "Host: localhost", `Authorization: Bearer ${secret}`],
        ...["Content-Type: application/json", `Content-Length: ${body.length}`],
        ...["Expect: 100-continue", "", ""],
      ];
      socket.write(head.join("\r\n"));
      // The server says so when it has read this much.
      await once(socket, "data");
      await settle({ maxBodyBytes: 100 });
      assert.deepEqual(JSON.parse((await reload()).body).changed, ["maxBodyBytes"]);
      socket.write(body);
      assert.match(String(await once(socket, "data")), /^HTTP\/1\.1 201 /);
      socket.destroy();
      assert.equal((await ask("/people", json("POST", JSON.parse(body)))).status, 413);
    });

    it("is made by SIGHUP, too, and logged", alone, async () => {
      await settle({ corsOrigins: "none" });
      await open(...flags);
      await settle({ corsOrigins: "*", logLevel: "warn", workers: 3 });
      running.signal("SIGHUP");
      await until(async () => (await allowedOrigin()) === "*");
      await settle({ logLevel: "info", maxBodyBytes: "much" });
      running.signal("SIGHUP");
      await until(() => running.stdout().includes("settings cannot be reloaded"));
      await settle({ logLevel: "info" });
      running.signal("SIGHUP");
      await until(() => running.stdout().includes('"reloaded settings"'));
      const lines = running
        .stdout()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      const failed = lines.find(({ msg }) => msg.includes("cannot be reloaded"));
      assert.match(failed?.errors[0], /maxBodyBytes.*must be/);
      const { changed } = lines.find(({ msg }) => msg === "reloaded settings");
      assert.deepEqual(
        changed,
        ["corsOrigins", "logLevel"].filter((name) => changed.includes(name)),
      );
    });

    it("survives the end of a process", many, async () => {
      await settle({ corsOrigins: "none" });
      await open(...flags);
      await settle({ corsOrigins: "*" });
      if (workers > 1) {
        const [victim = 0] = await childrenOf(running.pid);
        running.signal("SIGHUP");
        process.kill(victim, "SIGKILL");
        await until(async () => (await childrenOf(running.pid)).length === 2);
        await until(
          async () => !(await everywhere(allowedOrigin).catch(() => [null])).includes(null),
        );
      }
      running.signal("SIGHUP");
      running.signal("SIGKILL");
      await running.ended;
      await open(...flags);
      assert.deepEqual(new Set(await everywhere(allowedOrigin)), new Set(["*"]));
    });
  });
}

describe("a reload on Postgres", { skip: !isLong && "in the long run" }, () => {
  it("is the same, with two processes", patience, async () => {
    const server = await PostgresServer.shared();
    try {
      const store = await server.preparedDatabase();
      await changeUnderLoad("--store", store, "--workers", onLinux ? "2" : "1");
    } finally {
      await server.close();
    }
  });
});
