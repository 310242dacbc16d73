// The command `erase` on the embedded database, beside a server, with workers, killed, and blocked by a reader.

import assert from "node:assert/strict";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, beforeEach, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { childrenOf, killedAt, run, runKilledAt, start } from "../process.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { itLong } from "../short-run.ts";
import { canInject } from "../store/sqlite/test-directory.ts";
import { Client, History, tracesIn } from "./history.ts";

const adminToken = newSecret();
const environment = { RESTANTE_ADMIN_TOKEN: adminToken };
let folder: string;
let data: string;
let count = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
});
after(() => rm(folder, { recursive: true, force: true }));
beforeEach(() => {
  data = join(folder, `data-${++count}`);
});

const restante = (...args: readonly string[]) =>
  run(["erase", "--data", data, ...args], { cwd: folder, environment });

async function serving<T>(
  act: (client: Client) => Promise<T>,
  ...flags: readonly string[]
): Promise<T> {
  const server = await start(["--data", data, "--rate-limit-per-address", "0", ...flags], {
    ...{ cwd: folder, environment },
  });
  try {
    return await act(new Client(server.url, adminToken));
  } finally {
    server.signal("SIGTERM");
    await server.ended;
  }
}

/** Draws a write of the thread that erases a person: the first ones are those of its start. */
const drawWrite = (random: () => number) => 17 + Math.ceil(random() * 220);

/** Erases through a server that is killed at one of its writes. */
async function eraseAndKillServer({ id }: History, when: number): Promise<void> {
  const command = killedAt("pwrite64", when);
  // A server that is slow to start can come to this write before it listens.
  const server = await start(["--data", data], { cwd: folder, environment, command }).catch(
    () => undefined,
  );
  const { code, stderr } = await restante(`/people/${id}`);
  assert.ok(
    code === 0 || /[Rr]un the same command again|owns the folder exited/.test(stderr),
    stderr,
  );
  if (server === undefined) return;
  // A signal to strace would end strace alone.
  const pids = canInject() ? await childrenOf(server.pid) : [server.pid];
  for (const pid of pids) process.kill(pid, "SIGKILL");
  await server.ended;
}

/** The neighbours are all there, in lists, searches and feeds, and the person is in none. */
async function checkOthers(client: Client, history: History): Promise<void> {
  const { id, people, links } = history;
  assert.equal((await client.send("GET", `/people/${id}`)).status, 404);
  assert.deepEqual(await client.idsOf("people"), people);
  assert.equal((await client.must("GET", "/people?limit=1")).total, people.size);
  assert.deepEqual(await client.idsOf("people", "&sort=city"), people);
  assert.equal((await client.must("GET", "/docs")).total, 0);
  assert.deepEqual(await client.idsOf("links"), links);
  for (const secret of history.secrets.slice(0, 8))
    assert.equal((await client.must("GET", `/people?q=${secret}`)).total, 0);
  for (const each of [...people].slice(0, 5)) {
    const { bio } = await client.must("GET", `/people/${each}`);
    const found = await client.must("GET", `/people?q=${String(bio).split(" ")[0]}`);
    assert.ok((found.data as { id: string }[]).some((other) => other.id === each));
  }
}

/** The command before may have done everything. */
const finished = /^rewrite: .*\n(?:There was nothing of .*\n)?$|^There was nothing of .*\n$/;

describe("restante erase", () => {
  for (const [title, flags] of [
    ["a server", []],
    ["workers", ["--workers", "2"]],
  ] as const)
    it(`leaves no trace of a resource, beside ${title} that goes on writing`, () =>
      serving(
        async (client) => {
          const history = new History(client, randomNumbers(newSeed(`erase beside ${title}`)));
          await history.define();
          await history.run(runs(30, 600));
          const { next } = await client.must("GET", "/people?since=0");
          assert.ok((await tracesIn(data, history.secrets)).length >= 2);
          const ended = restante(`/people/${history.id}`);
          let isRunning = true;
          void ended.finally(() => (isRunning = false));
          while (isRunning) await history.neighbour();
          const { code, stdout, stderr } = await ended;
          assert.equal(code, 0, stderr);
          assert.match(stdout, /^Erased in docs: 1 resource\.$/m);
          assert.match(
            stdout,
            /^Erased in people: 1 resource, \d+ previous states?, \d+ keys?\.$/m,
          );
          assert.match(stdout, /^Erased 1 file \(1\d\d kB\)\.\nNothing of it is left in /m);
          assert.ok(!history.secrets.some((secret) => stdout.includes(secret)));
          assert.deepEqual(await tracesIn(data, history.secrets), []);
          for (let n = 0; n < 3; n++) await history.neighbour();
          await checkOthers(client, history);
          assert.equal((await client.send("GET", `/people?since=${next}`)).status, 410);
          assert.deepEqual(await tracesIn(data, history.secrets), []);
        },
        ...flags,
      ));

  it("erases nothing when the resource is damaged, and says so", async () => {
    await serving((client) => client.must("PUT", "/people/ann", { name: "Ann" }));
    const database = new DatabaseSync(join(data, "restante.db"));
    database.exec(`UPDATE resources SET fields = '{"name":"Eve"}'`);
    database.close();
    const { code, stderr } = await restante("/people/ann");
    assert.equal(code, 1);
    assert.match(stderr, /the resource "ann".* is damaged: restore it from a backup/);
  });

  it("removes the database that an upgrade has kept", async () => {
    await serving((client) => client.must("PUT", "/people/ann", { name: "secret-9b8a7c" }));
    await copyFile(join(data, "restante.db"), join(data, "restante.former-11.db"));
    assert.equal((await restante("/people/ann")).code, 0);
    assert.deepEqual(await tracesIn(data, ["secret-9b8a7c"]), []);
  });

  itLong("goes on after the server was killed at any moment", async () => {
    const random = randomNumbers(newSeed("erase, server killed"));
    for (let n = 0; n < runs(1, 20); n++) {
      const history = await serving(async (client) => {
        const person = new History(client, random);
        if (n === 0) await person.define();
        await person.run(20);
        return person;
      });
      await eraseAndKillServer(history, drawWrite(random));
      await serving(async () => {
        const { stderr } = await restante(`/people/${history.id}`);
        assert.match(stderr, finished);
        assert.deepEqual(await tracesIn(data, history.secrets), []);
      });
    }
  });

  itLong("goes on after it was killed at any moment", async () => {
    const random = randomNumbers(newSeed("erase, killed"));
    const histories = await serving(async (client) => {
      const all = Array.from({ length: runs(1, 20) }, () => new History(client, random));
      await all[0]?.define();
      for (const history of all) await history.run(20);
      return all;
    });
    for (const { id, secrets } of histories) {
      const args = ["erase", "--data", data, `/people/${id}`];
      for (let n = 0; n < 3; n++)
        await runKilledAt("pwrite64", drawWrite(random), args, { cwd: folder });
      const { stderr } = await restante(`/people/${id}`);
      assert.match(stderr, finished);
      assert.deepEqual(await tracesIn(data, secrets), []);
    }
    await serving(async (client) => {
      const people = new Set(histories.flatMap((history) => [...history.people]));
      assert.deepEqual(await client.idsOf("people"), people);
    });
  });
});
