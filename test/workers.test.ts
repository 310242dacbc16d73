// Many processes behind one port: they behave like one, and survive failures of each.
// @runtimes both
// @process own

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { newSecret } from "../src/model/secret.ts";
import {
  AcknowledgedWrites,
  countConcurrently,
  createToken,
  json,
  processOf,
  replaceAndRead,
  requestSender,
  type SendRequest,
} from "./acknowledged-writes.ts";
import { certificateFolder, makeCertificate } from "./certificates.ts";
import { PostgresServer } from "./postgres-server.ts";
import {
  childrenOf,
  commandLine,
  firstToken,
  isRunning,
  run,
  type ServerProcess,
  start,
} from "./process.ts";
import { runs, within } from "./seeds.ts";
import { itLong, runsOn } from "./short-run.ts";

/** Processes start and end in these tests, on machines that may be busy. */
const patience = within(300_000);
const skip = process.platform === "linux" ? false : "only Linux spreads connections over processes";

let cwd: string;
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-workers-"));
});
after(() => rm(cwd, { recursive: true, force: true }));

/** One secret for all starts. The first one stores it. */
const secret = newSecret();
const launch = (place: readonly string[]): Promise<ServerProcess> =>
  start([...place, "--workers", "2"], { cwd, environment: { RESTANTE_ADMIN_TOKEN: secret } });

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(20);
}

/** Kills one of the workers, and waits until the one that takes its place answers, too. */
async function killWorker({ pid }: ServerProcess): Promise<void> {
  const before = await childrenOf(pid);
  const [victim = 0] = before;
  process.kill(victim, "SIGKILL");
  await until(async () => {
    const now = await childrenOf(pid);
    return now.length === 2 && !now.includes(victim);
  });
  const answering = new Set<string>();
  await until(async () => answering.add(processOf(await ask("/-/health"))).size === 2);
}

/** A POST whose body is incomplete; then the rest of it and the response. */
async function halfPost(running: ServerProcess): Promise<() => Promise<string>> {
  const socket = connect(running.port, new URL(running.url).hostname);
  await once(socket, "connect");
  const head = [
    ...["POST /halves HTTP/1.1", "Host: localhost", `Authorization: Bearer ${secret}`],
    ...["Content-Type: application/json", "Content-Length: 14", "Expect: 100-continue", "", ""],
  ];
  socket.setEncoding("utf8").write(head.join("\r\n"));
  // It says so when it has read this much: only then is the request in flight.
  await once(socket, "data");
  return async () => {
    socket.write('{"name":"Bob"}');
    const [answer] = await once(socket, "data");
    return answer;
  };
}

let running: ServerProcess;
let ask: SendRequest;

async function open(place: readonly string[]): Promise<void> {
  running = await launch(place);
  ask = requestSender(running.url, secret);
}

async function end(): Promise<void> {
  running.signal("SIGKILL");
  await running.ended;
}

async function writeAndWatch(): Promise<void> {
  const journal = new AcknowledgedWrites("people", [ask]);
  const written = journal.postMany(8, runs(60, 160));
  await Promise.all([written, journal.readPagesUntil(written), journal.readPagesUntil(written)]);
  await journal.verify();
  assert.equal(journal.processes.size, 2, "both have answered");
  assert.deepEqual(journal.counts, { closed: 0, wait: 0, replayed: 0 });
}

async function revoke(withinMs: number): Promise<void> {
  const token = await createToken(ask);
  const read = requestSender(running.url, token.secret);
  for (let turn = 0; turn < 8; turn++) assert.equal((await read("/-/collections")).status, 403);
  assert.equal((await token.revoke()).status, 204);
  await sleep(withinMs);
  for (let turn = 0; turn < 16; turn++) assert.equal((await read("/-/collections")).status, 401);
}

async function killUnderLoad(): Promise<void> {
  const journal = new AcknowledgedWrites("killed", [ask]);
  await journal.postWhile(8, runs(16, 80), () => killWorker(running));
  await journal.verify();
  const linesOf = () => running.stdout().trimEnd().split("\n");
  await until(() => linesOf().some((line) => line.includes('"SIGKILL"')));
  const ends = linesOf()
    .map((line) => JSON.parse(line))
    .filter(({ end }) => end === "SIGKILL");
  assert.equal(ends.length, 1, "each line of the log is whole, and one tells of an end");
}

/** How many resources were created, as the metrics have it. */
async function countCreated(): Promise<number> {
  const { body } = await ask("/-/metrics");
  const line =
    /^restante_http_request_duration_seconds_count\{method="POST",route="\/\{collection\}",status="2xx"\} (\d+)$/m;
  return Number(line.exec(body)?.[1] ?? 0);
}

async function showSettings(): Promise<void> {
  const { data } = JSON.parse((await ask("/-/settings")).body);
  const workers = data.find(({ name }: { name: string }) => name === "workers");
  const expected = { name: "workers", value: 2, source: "flag", from: "--workers" };
  assert.deepEqual(workers, { ...expected, reloadable: false });
}

async function countRequests(): Promise<void> {
  const before = await countCreated();
  for (let turn = 0; turn < 20; turn++) await ask("/counted", json("POST", {}));
  assert.equal(await countCreated(), before + 20);
  await killWorker(running);
  assert.equal(await countCreated(), before + 20);
}

async function drain(): Promise<void> {
  const workers = await childrenOf(running.pid);
  assert.equal(workers.length, 2);
  const halves = await Promise.all(Array.from({ length: 6 }, () => halfPost(running)));
  running.signal("SIGTERM");
  await until(() => running.stdout().includes('"draining"'));
  const askOn = async () => {
    for (; ; await sleep(5)) await ask("/-/health");
  };
  await assert.rejects(askOn, /./, "a time comes when nobody takes a new one");
  for (const finish of halves) assert.match(await finish(), /^HTTP\/1.1 201 /);
  assert.equal((await running.ended).code, 0);
  for (const pid of workers) assert.equal(await isRunning(pid), false);
  assert.match(running.stdout(), /"stopped"\}\n$/);
}

describe("two workers on the embedded store", { skip }, () => {
  before(() => open(["--data", "people"]));
  after(end);

  it("each reads what another has written; pages and totals are exact", patience, writeAndWatch);
  const itOnBun = runsOn("bun") ? it : itLong;
  itOnBun("none returns what another has replaced", patience, () => replaceAndRead([ask], 25));
  itOnBun("no increment is lost between them", patience, () => countConcurrently([ask], 6));
  it("a token that is revoked through one is rejected by all immediately", patience, () =>
    revoke(0),
  );
  it(
    "one that is killed under load is replaced, and nothing acknowledged is lost",
    patience,
    killUnderLoad,
  );
  itOnBun("each shows the settings with their sources", patience, showSettings);
  itOnBun("their metrics are added up, and survive the end of one", patience, countRequests);
  it("SIGTERM finishes requests in progress in all, and stops all", patience, drain);
});

describe("two workers on Postgres", { skip: skip || !runsOn("bun") }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.shared();
    await open(["--store", await server.database()]);
  });
  after(async () => {
    await end();
    await server.close();
  });

  it("a token that is revoked through one is rejected by all within a second", patience, () =>
    revoke(1_000),
  );
  it(
    "one that is killed under load is replaced, and nothing acknowledged is lost",
    patience,
    killUnderLoad,
  );
  it("SIGTERM finishes requests in progress in all, and stops all", patience, drain);
});

describe("the first process", { skip: skip || !runsOn("bun") }, () => {
  after(end);

  it("stops the others when it is killed under load", patience, async () => {
    const place = ["--data", "orphans"];
    const first = await launch(place);
    const workers = await childrenOf(first.pid);
    const journal = new AcknowledgedWrites("people", [requestSender(first.url, secret)]);
    await journal.postWhile(8, runs(16, 80), async () => {
      first.signal("SIGKILL");
      await first.ended;
      await until(async () => {
        const alive = await Promise.all(workers.map(isRunning));
        return !alive.includes(true);
      });
      await open([...place, "--port", String(first.port)]);
    });
    await journal.verify();
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 0);
  });

  it("creates one first token, and reports when the port is in use", patience, async () => {
    running = await start(["--data", "one", "--workers", "2"], { cwd });
    const token = firstToken(running);
    const { body } = await requestSender(running.url, token)("/-/tokens");
    assert.equal(JSON.parse(body).data.length, 1);
    const files = certificateFolder(makeCertificate());
    for (const more of [
      ["--workers", "1"],
      ["--workers", "2", ...files.flags],
    ]) {
      const args = ["--port", String(running.port), ...more, "--data", "two"];
      const { code, stderr } = await run(["serve", ...args], { cwd });
      assert.match(stderr, new RegExp(`^Port ${running.port} on localhost is in use`, "m"));
      assert.equal(code, 1);
    }
    files.remove();
    running.signal("SIGINT");
    assert.equal((await running.ended).code, 0);
  });

  it("writes the first token before a worker can be ready", patience, async () => {
    const [program, ...before] = commandLine;
    const args = [...before, "serve", "--data", "early", "--port", "0", "--workers", "2"];
    const env = { PATH: process.env.PATH };
    const first = spawn(program, args, { cwd, env, stdio: "ignore" });
    const ended = once(first, "exit");
    while (first.exitCode === null && (await childrenOf(first.pid ?? 0)).length === 0)
      await sleep(1);
    assert.ok(existsSync(join(cwd, "early", "admin-token")));
    first.kill("SIGTERM");
    await ended;
  });

  it(
    "waits between attempts when workers cannot start, and continues when they can",
    patience,
    async () => {
      await open(["--data", "moved"]);
      const data = join(cwd, "moved");
      await rename(data, `${data}-away`);
      const [victim = 0] = await childrenOf(running.pid);
      process.kill(victim, "SIGKILL");
      const failedAt = () =>
        [...running.stdout().matchAll(/"time":"([^"]+)".*"a worker cannot start"/g)].map(
          ([, time = ""]) => Date.parse(time),
        );
      await until(() => failedAt().length >= 3);
      const [first = 0, , third = 0] = failedAt();
      assert.ok(third - first > 1_500, `three attempts in ${third - first} ms`);
      assert.equal((await ask("/-/health")).status, 200, "the other one goes on");
      // A worker that starts in between finds no folder or the right one.
      await rename(data, `${data}-empty`);
      await rename(`${data}-away`, data);
      await until(async () => (await childrenOf(running.pid)).length === 2);
      await replaceAndRead([ask], 2);
      running.signal("SIGTERM");
      assert.equal((await running.ended).code, 0);
    },
  );

  it("is the only one that starts a worker", async () => {
    const { code, stderr } = await run(["worker"], { cwd });
    assert.match(stderr, /^Do not start a worker directly: use `restante serve --workers`/);
    assert.equal(code, 2);
  });
});
