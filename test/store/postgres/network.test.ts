// Stores behind a network that fails at any byte: nothing is lost or done twice, nothing waits for ever.
// @tier all

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { platform } from "node:os";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Outage } from "../../../src/model/outage.ts";
import type { Resource } from "../../../src/model/resource.ts";
import { withGroupCommit } from "../../../src/store/group-commit.ts";
import { Connection, rows } from "../../../src/store/postgres/connection.ts";
import { NoAnswer, outageOf } from "../../../src/store/postgres/errors.ts";
import type { PostgresOptions } from "../../../src/store/postgres/options.ts";
import type { Change, Store } from "../../../src/store/store.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import {
  all,
  create,
  idsFrom,
  idsOf,
  once,
  put,
  token,
  totalOf,
  written,
} from "../contract/change-helpers.ts";
import { FaultyNetwork } from "./faulty-network.ts";
import { sessions, type TestDatabase, TestDatabases, until, waiting } from "./test-databases.ts";

const databases = new TestDatabases("own");

/** The limits of the stores are small, so that a silent network is noticed soon. */
const limits = {
  ...{ deadlineMs: 500, extraMs: 500, queryDeadlineMs: 600, cacheMs: 100, checkMs: 50 },
  ...{ readers: 2, writers: 2, queries: 2 },
};
/** A store has one more to listen. */
const connectionsOf = limits.readers + limits.writers + limits.queries + 1;
/** No call and no recovery takes so long, however the network fails and whatever else the machine does. */
const longest = 300_000;

/** Rejects with what was waited for. */
async function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  const controller = new AbortController();
  const late = sleep(longest, undefined, controller).then(() => assert.fail(`no end of ${what}`));
  try {
    return await Promise.race([promise, late]);
  } finally {
    controller.abort();
    late.catch(() => undefined);
  }
}

/** Returns undefined after an outage. Any other error is a bug. */
async function unlessOutage<T>(what: string, call: () => T | Promise<T>): Promise<T | Outage> {
  try {
    return await inTime(what, Promise.resolve(call()));
  } catch (error) {
    if (error instanceof Outage) return error;
    throw error;
  }
}

/** Clients of one node, which write and read one after another. */
class Clients {
  readonly #node: Store;
  readonly #random: () => number;
  /** What the node has acknowledged. */
  readonly acknowledged: Resource[] = [];
  /** The ids that may be stored, and those that must not be. */
  readonly unknown: string[] = [];
  readonly rejected: string[] = [];
  readonly #loops: Promise<unknown>;
  #isOver = false;

  constructor(name: string, node: Store, random: () => number) {
    this.#node = node;
    this.#random = random;
    const loops = idsFrom(3, name).map((client) => this.#write(client));
    this.#loops = Promise.all([...loops, this.#read(), this.#read()]);
  }

  /** Resolves when each client has done what it is at. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#loops;
  }

  async #write(client: string): Promise<void> {
    for (let number = 0; !this.#isOver; number++) {
      const name = `${client}-${number}`;
      if (this.#random() < 0.5) await this.#insert(name);
      else await this.#insertOnce(name);
      await sleep(this.#random() * 10);
    }
  }

  /** Without a key nobody tries again. */
  async #insert(id: string): Promise<void> {
    const change = { ...put(id, { expect: "nothing" }), isNewId: true } as const;
    const outcomes = await unlessOutage("a commit", () => this.#node.commit([change]));
    if (!(outcomes instanceof Outage)) await this.#acknowledge(written(outcomes[0]));
    else if (outcomes.reason === "unknown") this.unknown.push(id);
    else this.rejected.push(id);
  }

  /** Tries again until it is done, each time with another id: only the key shows that it is the same. */
  async #insertOnce(key: string): Promise<void> {
    const others: string[] = [];
    for (let attempt = 0; ; attempt++) {
      const id = `${key}.${attempt}`;
      const unit = all([put(id)], once(key));
      const outcomes = await unlessOutage("a commit with a key", () => this.#node.commit([unit]));
      others.push(id);
      if (outcomes instanceof Outage) {
        await sleep(20);
        continue;
      }
      const [outcome] = outcomes;
      assert.ok(outcome?.kind === "all");
      const made = written(outcome.outcomes[0]);
      this.rejected.push(...others.filter((other) => other !== made.id));
      return this.#acknowledge(made);
    }
  }

  /** Reads what was written, with the next read that succeeds. */
  async #acknowledge(made: Resource): Promise<void> {
    this.acknowledged.push(made);
    const read = await unlessOutage("a read", () => this.#node.find("things", made.id));
    if (!(read instanceof Outage)) assert.deepEqual(read, made);
  }

  async #read(): Promise<void> {
    const range = { offset: 0, limit: 100_000, order: "created" } as const;
    while (!this.#isOver) {
      const least = this.acknowledged.length;
      const total = await unlessOutage("a total", () => totalOf(this.#node));
      if (!(total instanceof Outage)) assert.ok((total ?? 0) >= least, `${total} < ${least}`);
      const before = this.acknowledged.map(({ id }) => id);
      const options = this.#random() < 0.5 ? { caller: "" } : undefined;
      const slice = await unlessOutage("a list", () => this.#node.slice("things", range, options));
      if (!(slice instanceof Outage)) assertAllIn(before, slice?.resources ?? []);
      await sleep(this.#random() * 20);
    }
  }
}

function assertAllIn(ids: readonly string[], resources: readonly Resource[]): void {
  const present = new Set(resources.map(({ id }) => id));
  assert.deepEqual(
    ids.filter((id) => !present.has(id)),
    [],
  );
}

/** Everything acknowledged is stored once, nothing that was rejected is, and the counters are those of the rows. */
async function assertStored(store: Store, clients: readonly Clients[]): Promise<void> {
  const slice = await store.slice("things", { offset: 0, limit: 100_000, order: "created" });
  const resources = slice?.resources ?? [];
  const acknowledged = clients.flatMap((each) => each.acknowledged);
  const stored = new Map(resources.map((resource) => [resource.id, resource]));
  for (const resource of acknowledged) assert.deepEqual(stored.get(resource.id), resource);
  const possible = new Set([
    ...acknowledged.map(({ id }) => id),
    ...clients.flatMap(({ unknown }) => unknown),
  ]);
  assert.deepEqual(
    resources.filter(({ id }) => !possible.has(id)),
    [],
  );
  const collection = await store.collection("things");
  assert.deepEqual([collection?.total, stored.size], [resources.length, resources.length]);
  // Founding took the first revision and each resource one more.
  assert.deepEqual(
    resources.map(({ revision }) => revision).toSorted((a, b) => a - b),
    resources.map((_, index) => index + 2),
  );
  assert.equal(collection?.revision, resources.length + 1);
}

/** Tries again until the store is open: opening fails like everything else. */
async function openAt(
  testDatabase: TestDatabase,
  options: Parameters<TestDatabase["open"]>[0],
): Promise<Store> {
  for (;;)
    try {
      return await inTime("opening", testDatabase.open({ ...limits, ...options }));
    } catch (error) {
      assert.match(String(error), /^Error: Cannot open/);
      assert.ok(error instanceof Error && outageOf(error.cause), String(error));
    }
}

/** Resolves when the store reads and writes again. */
const recover = (store: Store, id: string): Promise<void> => until(() => isWorking(store, id));

async function isWorking(store: Store, id: string): Promise<boolean> {
  const written = await unlessOutage("a commit", () => store.commit([put(id)]));
  const read = await unlessOutage("a read", () => store.find("things", id));
  const list = await unlessOutage("a list", () => idsOf(store));
  const problem = await inTime("a check", Promise.resolve(store.ready()));
  return ![written, read, list].some((each) => each instanceof Outage) && problem === undefined;
}

/** How many sockets this process has to the port, where the system says so. */
async function socketsTo(port: string): Promise<number> {
  if (platform() !== "linux") return 0;
  const lines = (await readFile("/proc/self/net/tcp", "utf8")).split("\n").slice(1);
  const hex = Number(port).toString(16).toUpperCase().padStart(4, "0");
  return lines.filter((line) => {
    const [, , to = "", , , , , , , inode] = line.trim().split(/\s+/);
    return to.endsWith(`:${hex}`) && inode !== "0";
  }).length;
}

/** Resolves when there are no more of them. */
const settled = (what: string, count: () => Promise<number>, most: number): Promise<void> =>
  inTime(
    `over ${most} ${what}`,
    until(async () => {
      const isSettled = (await count()) <= most;
      // To look is some work for the server.
      if (!isSettled) await sleep(100);
      return isSettled;
    }),
  );

/** The second one commits for the third. */
async function openNodes(testDatabase: TestDatabase, url: string): Promise<readonly Store[]> {
  const open = async (options: Partial<PostgresOptions> = {}) =>
    withGroupCommit(await openAt(testDatabase, { url, ...options }));
  const [one, owner] = await Promise.all([open(), open()]);
  const commit = (changes: readonly Change[]) => owner.commit(changes);
  return [one, owner, await open({ committer: { commit } })];
}

async function closeNodes([one, owner, worker]: readonly Store[]): Promise<void> {
  await inTime("closing", Promise.all([one?.close(), worker?.close()]));
  await inTime("closing", Promise.all([owner?.close()]));
}

async function playRound(seed: number): Promise<void> {
  const random = randomNumbers(seed);
  await databases.in(async (testDatabase) => {
    const near = await testDatabase.open();
    await near.commit([create()]);
    using network = new FaultyNetwork(testDatabase.url, random);
    const url = await network.listen();
    const { port } = new URL(url);
    if (random() < 0.5) network.fail();
    const nodes = await openNodes(testDatabase, url);
    const clients = nodes.map((node, index) => new Clients(`node-${index}`, node, random));
    for (let times = 0; times < 2; times++) {
      await network.failFor(random() * 500);
      network.heal();
      await sleep(random() * 200);
    }
    await Promise.all(clients.map((each) => inTime("the clients", each.end())));
    await assertStored(near, clients);
    await near.close();
    await Promise.all(
      nodes.map((node, index) => inTime(`recovery of node ${index}`, recover(node, `${index}`))),
    );
    const most = nodes.length * connectionsOf;
    await settled("sockets", () => socketsTo(port), most);
    await settled("sessions", () => sessions(testDatabase), most);
    const isSilent = random() < 0.5;
    if (isSilent) network.silence();
    if (isSilent) network.setAccepting("swallow");
    await closeNodes(nodes);
    await settled("sockets", () => socketsTo(port), 0);
    network.heal();
    await settled("sessions", () => sessions(testDatabase), 0);
  });
}

/** Plays rounds until one fails, several at a time, because most of their time is waiting. */
async function playRounds(seed: number, count: number): Promise<void> {
  let next = 0;
  const failures: Error[] = [];
  const playNext = async () => {
    while (next < count && failures.length === 0) {
      const given = seed + next++;
      await playRound(given).catch((cause: unknown) => {
        failures.push(new Error(`with RESTANTE_TEST_SEED=${given}`, { cause }));
      });
    }
  };
  await Promise.all([playNext(), playNext()]);
  for (const failure of failures) throw failure;
}

describe("a network that fails at any byte", () => {
  it("loses nothing, does nothing twice, and everything recovers", () =>
    playRounds(newSeed("network"), runs(1, 200)));
});

/** Runs a test on a store behind a network that works at first. */
const behindNetwork = (
  options: Partial<PostgresOptions>,
  test: (store: Store, network: FaultyNetwork, testDatabase: TestDatabase) => Promise<void>,
): Promise<void> =>
  databases.in(async (testDatabase) => {
    using network = new FaultyNetwork(testDatabase.url, () => 0);
    const url = await network.listen();
    // A slow machine must not look like a silent network.
    const deadlines = { deadlineMs: 5_000, extraMs: 500 };
    const store = await testDatabase.open({ ...limits, ...deadlines, url, ...options });
    await test(store, network, testDatabase);
    await store.close();
    await settled("sockets", () => socketsTo(new URL(url).port), 0);
  });

const isUnavailable = (error: unknown): boolean =>
  error instanceof Outage && error.reason === "unavailable";

describe("a silent network", () => {
  it("fails the call that notices it, and no later one", () =>
    behindNetwork({ readers: 4, writers: 4 }, async (store, network) => {
      const names = idsFrom(4, "collection");
      await Promise.all(names.map((name) => store.commit([create(name)])));
      await Promise.all(names.map((name) => store.collection(name)));
      network.silence();
      await assert.rejects(Promise.resolve(store.collections()), isUnavailable);
      assert.equal((await store.collections()).length, 4);
      await assert.rejects(store.commit([put("a", { collection: "collection-0" })]), isUnavailable);
      const [outcome] = await store.commit([put("a", { collection: "collection-0" })]);
      assert.equal(outcome?.kind, "created");
    }));

  it("makes a query at its deadline replace the connections of others", () =>
    behindNetwork({ queries: 4, queryDeadlineMs: 5_000 }, async (store, network) => {
      await store.commit([create()]);
      const range = { offset: 0, limit: 10, order: "created" } as const;
      const query = async () => store.slice("things", range, { caller: "" });
      await Promise.all(idsFrom(4).map(query));
      network.silence();
      await assert.rejects(query(), Outage);
      // One is left to write, one to listen, and one or two for short reads.
      await settled("sockets", () => socketsTo(network.port), 4);
      assert.deepEqual((await query())?.resources, []);
    }));

  it("lets a store close, and leaves no socket open", () =>
    behindNetwork({}, async (store, network) => {
      await store.commit([create(), put("a")]);
      assert.deepEqual(await idsOf(store), ["a"]);
      network.silence();
      network.setAccepting("swallow");
    }));

  it("is noticed by a node that waits for notifications", () =>
    behindNetwork({ cacheMs: 3_600_000 }, async (store, network, testDatabase) => {
      const other = await testDatabase.open();
      await other.commit([{ kind: "create-token", token: token("t") }]);
      assert.equal((await store.token("hash of t"))?.revokedAt, null);
      network.silence();
      await other.commit([{ kind: "revoke-token", id: "t", at: 7 }]);
      await until(async () => {
        const read = await unlessOutage("a token", () => store.token("hash of t"));
        return !(read instanceof Outage) && read?.revokedAt === 7;
      });
    }));

  it("ends statements without a deadline", () =>
    databases.in(async (testDatabase) => {
      using network = new FaultyNetwork(testDatabase.url, () => 0);
      const options = { url: await network.listen(), schema: testDatabase.schema, deadlineMs: 0 };
      const connection = await Connection.open({ ...options, checkMs: 50 });
      // The server is busy with it for longer than the looks at it take.
      await connection.run((sql) => rows(sql`SELECT pg_sleep(1)`));
      network.silence();
      await assert.rejects(
        connection.run((sql) => rows(sql`SELECT 1`)),
        NoAnswer,
      );
    }));
});

describe("a network that refuses new connections", () => {
  it("fails all writes that wait for one", () =>
    behindNetwork({ writers: 3, deadlineMs: 60_000 }, async (store, network, testDatabase) => {
      const names = idsFrom(3, "collection");
      for (const name of names) await store.commit([create(name)]);
      await testDatabase.admin(async (sql) => {
        await sql`BEGIN`;
        await sql`SELECT FROM heads FOR UPDATE`;
        const { accepted } = network;
        network.setAccepting("reset");
        const commits = names.map((collection) => store.commit([put("a", { collection })]));
        const settled = Promise.allSettled(commits);
        // One has the connection, and another one has tried to connect.
        await until(async () => (await waiting(testDatabase)) === 1 && network.accepted > accepted);
        network.reset();
        for (const each of await settled)
          assert.ok(each.status === "rejected" && isUnavailable(each.reason));
        await sql`ROLLBACK`;
      });
      network.heal();
      const [outcome] = await store.commit([put("a", { collection: "collection-2" })]);
      assert.equal(outcome?.kind, "created");
    }));

  it("is tried once for each connection that is needed", () =>
    databases.in(async (testDatabase) => {
      using network = new FaultyNetwork(testDatabase.url, () => 0);
      const url = await network.listen();
      network.setAccepting("end");
      await assert.rejects(testDatabase.open({ url }), /Cannot open.*closed the connection/);
      assert.equal(network.accepted, 1);
    }));
});
