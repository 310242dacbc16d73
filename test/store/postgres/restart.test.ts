// Servers and nodes that die under load, with a record of what was acknowledged.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once as happens } from "node:events";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Outage } from "../../../src/model/outage.ts";
import { withGroupCommit } from "../../../src/store/group-commit.ts";
import type { Store } from "../../../src/store/store.ts";
import { runs } from "../../seeds.ts";
import { itLong } from "../../short-run.ts";
import {
  all,
  create,
  idsFrom,
  idsOf,
  once,
  put,
  totalOf,
  written,
} from "../contract/change-helpers.ts";
import { type TestDatabase, TestDatabases, until } from "./test-databases.ts";

const databases = new TestDatabases("own");

/** Clients that make one resource after another, and try again under the same key until it is done. */
class Load {
  readonly journal: string[] = [];
  readonly outages: Outage["reason"][] = [];
  readonly #clients: Promise<unknown>;
  #isOver = false;
  #isGivenUp = false;

  constructor(nodes: readonly Store[]) {
    const clients = nodes.flatMap((node, number) =>
      idsFrom(8, `client-${number}`).map((name) => this.#run(name, node)),
    );
    this.#clients = Promise.all(clients);
  }

  /** Until so many more were acknowledged. */
  async goesOn(count: number): Promise<void> {
    const wanted = this.journal.length + count;
    await until(async () => this.journal.length >= wanted);
  }

  /** When each client has done what it is at. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#clients;
  }

  /** Leaves it undone, so that a test which has failed comes to an end. */
  async giveUp(): Promise<void> {
    this.#isGivenUp = true;
    await this.end();
  }

  async #run(name: string, node: Store): Promise<void> {
    for (let number = 0; !this.#isOver; number++) {
      const key = `${name}-${number}`;
      for (let attempt = 0; !(await this.#make(key, attempt, node)); attempt++)
        if (this.#isGivenUp) return;
        else await sleep(20);
    }
  }

  /** With another id for each attempt, as for a POST: only the key shows that it is the same request. */
  async #make(key: string, attempt: number, node: Store): Promise<boolean> {
    try {
      const [outcome] = await node.commit([all([put(`${key}.${attempt}`)], once(key))]);
      assert.ok(outcome?.kind === "all");
      const made = written(outcome.outcomes[0]);
      assert.deepEqual(await node.find("things", made.id), made);
      this.journal.push(made.id);
      return true;
    } catch (error) {
      if (!(error instanceof Outage)) throw error;
      this.outages.push(error.reason);
      return false;
    }
  }
}

/** Lets clients create resources on all nodes during the action; returns what was acknowledged. */
async function underLoad(
  nodes: readonly Store[],
  action: (load: Load) => Promise<void>,
): Promise<readonly string[]> {
  const load = new Load(nodes);
  try {
    await action(load);
    await load.end();
    return load.journal;
  } finally {
    await load.giveUp();
  }
}

/** Everything that was acknowledged is there, and nothing else: no attempt was done twice. */
async function assertJournal(store: Store, journal: readonly string[]): Promise<void> {
  assert.deepEqual((await idsOf(store))?.toSorted(), journal.toSorted());
  const collection = await store.collection("things");
  // Founding took the first revision and each resource one more.
  assert.deepEqual([collection?.total, collection?.revision], [journal.length, journal.length + 1]);
}

describe("under load", () => {
  it("a server is restarted, stopped and killed: nothing is lost or done twice", () =>
    databases.in(async (testDatabase) => {
      const nodes = [
        withGroupCommit(await testDatabase.open()),
        withGroupCommit(await testDatabase.open()),
      ];
      await nodes[0]?.commit([create()]);
      const journal = await underLoad(nodes, async (load) => {
        for (const signal of ["INT", "QUIT", "KILL"] as const) {
          await load.goesOn(runs(20, 100));
          await testDatabase.server.stop(signal);
          const { length } = load.outages;
          await until(async () => load.outages.length > length);
          await testDatabase.server.start();
        }
        await load.goesOn(runs(20, 100));
      });
      for (const node of nodes) {
        await assertJournal(node, journal);
        assert.equal(await node.ready(), undefined);
      }
    }));

  it("connections are closed repeatedly: nothing is lost or done twice", () =>
    databases.in(async (testDatabase) => {
      const nodes = [
        withGroupCommit(await testDatabase.open()),
        withGroupCommit(await testDatabase.open()),
      ];
      await nodes[0]?.commit([create()]);
      const journal = await underLoad(nodes, async (load) => {
        for (let round = 0; round < runs(6, 30); round++) {
          await testDatabase.admin(
            (sql) => sql`
              SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE application_name = 'restante'`,
          );
          await load.goesOn(1);
        }
      });
      await assertJournal(nodes[1] ?? assert.fail(), journal);
    }));

  itLong("nodes are killed: everything acknowledged is stored, and the others continue", () =>
    databases.in(async (testDatabase) => {
      const store = await testDatabase.open();
      const acknowledged: string[] = [];
      for (let round = 0; round < runs(2, 3); round++) {
        const children = [1, 2].map((number) =>
          startNode(testDatabase, `${round}-${number}`, acknowledged),
        );
        const { length } = acknowledged;
        await until(async () => acknowledged.length > length + runs(50, 150));
        // One while it works, and the other when it has had the collection for itself.
        for (const child of children) {
          const before = acknowledged.length;
          await until(async () => acknowledged.length > before);
          child.kill("SIGKILL");
          await happens(child, "close");
        }
      }
      const ids = new Set(await idsOf(store));
      assert.deepEqual(
        acknowledged.filter((id) => !ids.has(id)),
        [],
      );
      assert.deepEqual(
        [...ids].filter((id) => id.startsWith("gone-")),
        [],
      );
      assert.equal(ids.size, await totalOf(store));
      // No lock is left behind.
      assert.equal((await store.commit([put("last")]))[0]?.kind, "created");
    }),
  );
});

function startNode(
  { url, schema }: TestDatabase,
  prefix: string,
  acknowledged: string[],
): ChildProcess {
  const script = fileURLToPath(new URL("./children/load.ts", import.meta.url));
  const child = spawn(process.execPath, [script, url, schema, prefix], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_NO_WARNINGS: "1" },
  });
  createInterface({ input: child.stdout }).on("line", (id) => acknowledged.push(id));
  return child;
}
