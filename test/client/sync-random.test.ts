// Two clients write at random, offline and online, while answers are lost, clients restart and the server is killed.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Client } from "../../client/index.ts";
import {
  type Copy,
  memory,
  Sync,
  type SyncConflict,
  type SyncStorage,
} from "../../client/sync/index.ts";
import { firstToken, type ServerProcess, start } from "../process.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";

interface Item {
  readonly id: string;
  readonly name: string;
  readonly n: number;
  readonly group: "a" | "b";
  readonly createdAt: string;
  readonly updatedAt: string;
}

interface Collections {
  readonly items: {
    readonly resource: Item;
    readonly draft: Omit<Item, "id" | "createdAt" | "updatedAt">;
  };
}

const counters = ["counter-1", "counter-2"];
const isCounter = (id: string) => counters.includes(id);

/** A server that can be killed, and starts again on its data. */
class Server {
  readonly #cwd: string;
  #process: ServerProcess | undefined;
  secret = "";

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  get url(): string {
    return this.#process?.url ?? "http://127.0.0.1:1";
  }

  async start(): Promise<void> {
    this.#process = await start([], { cwd: this.#cwd });
    this.secret ||= firstToken(this.#process);
  }

  async kill(): Promise<void> {
    this.#process?.signal("SIGKILL");
    await this.#process?.ended;
    this.#process = undefined;
  }
}

/** A network that loses requests and answers. */
class Network {
  readonly #server: Server;
  readonly #random: () => number;
  /** The probability of a cut. */
  cuts = 0.25;
  isOn = true;
  #busy = 0;
  /** How often the server has done what a key stands for. */
  readonly done = new Map<string, number>();

  constructor(server: Server, random: () => number) {
    this.#server = server;
    this.#random = random;
  }

  fetch = (async (input: string | URL | Request, init?: RequestInit) => {
    this.#busy++;
    try {
      return await this.#fetch(String(input), init);
    } finally {
      this.#busy--;
    }
  }) as typeof fetch;

  async #fetch(url: string, init?: RequestInit): Promise<Response> {
    const cut = this.#random() < this.cuts ? Math.floor(this.#random() * 3) : -1;
    if (!this.isOn || cut === 0) throw new TypeError("cut before the request");
    const response = await fetch(url.replace("http://shop", this.#server.url), init);
    const key = new Headers(init?.headers).get("idempotency-key");
    if (key && response.ok && !response.headers.has("idempotency-replayed"))
      this.done.set(key, (this.done.get(key) ?? 0) + 1);
    if (cut === 1) throw new TypeError("cut before the answer");
    return cut === 2 ? brokenOff(response) : response;
  }

  /** Nothing is sent, and no answer comes. */
  async off(): Promise<void> {
    this.isOn = false;
    while (this.#busy > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function brokenOff(response: Response): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(bytes.slice(0, bytes.length / 2));
      controller.error(new TypeError("cut in the middle of the answer"));
    },
  });
  const { status } = response;
  return status === 204 || status === 304 ? response : new Response(body, { status });
}

/** One person: a storage that outlives programs, and what was asked of them. */
class Person {
  readonly name: string;
  readonly network: Network;
  readonly #storage = memory();
  readonly #client: Client<Collections>;
  readonly #random: () => number;
  sync!: Sync<Collections>;
  all!: Copy<Collections["items"]>;
  ofGroup!: Copy<Collections["items"]>;
  #savesLeft = 0;
  #made = 0;
  /** A counter as it was shown when somebody opened a form; undefined after another write of this person. */
  #form: Item | undefined;
  /** By counter: increments that were stored and not given up. */
  readonly increments = new Map<string, number>();
  readonly removed = new Set<string>();
  readonly createdAgain = new Set<string>();
  readonly #last = new Map<string, number>();
  readonly faults: string[] = [];

  constructor(name: string, server: Server, random: () => number) {
    this.name = name;
    this.#random = random;
    this.network = new Network(server, random);
    const { fetch } = this.network;
    this.#client = new Client("http://shop", { fetch, token: () => server.secret });
  }

  /** A program that may die between two saves. */
  async open(): Promise<void> {
    this.#savesLeft = Number.POSITIVE_INFINITY;
    const storage: SyncStorage = {
      load: () => this.#storage.load(),
      save: async (records) => {
        if (this.#savesLeft-- <= 0) throw new Error("The program has ended.");
        await this.#storage.save(records);
      },
    };
    this.sync = await Sync.open(this.#client, { storage, everyMs: 50, waitMs: 1 });
    this.all = this.sync.copy("items");
    this.ofGroup = this.sync.copy("items", { where: { group: "a" } });
    this.sync.subscribe(() => this.#watch());
  }

  /** Dies after some more saves, and starts again. */
  async crash(): Promise<void> {
    this.#savesLeft = Math.floor(this.#random() * 4);
    await this.sync.now();
    await this.close();
    await this.open();
  }

  async close(): Promise<void> {
    this.#savesLeft = 0;
    await this.sync.close();
  }

  /** The server's state of a counter never goes back. */
  #watch(): void {
    for (const id of counters) {
      const shown = this.all.get(id)?.n ?? 0;
      if (this.#pendingOn(id).length > 0) continue;
      if (shown < (this.#last.get(id) ?? 0)) this.faults.push(`an older state of ${id} was shown`);
      this.#last.set(id, shown);
    }
  }

  #pendingOn(id: string) {
    return this.sync.pending.filter(({ changes }) => changes.some((one) => one.id === id));
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#random() * list.length)];
  }

  async write(): Promise<void> {
    const thing = this.#pick(this.all.all().filter(({ id }) => !isCounter(id)));
    const choice = this.#random();
    if (choice < 0.45) await this.increment(this.#random() < 0.2 ? counters : this.#oneCounter());
    else if (choice < 0.65 || !thing) await this.#create();
    else if (choice < 0.8) {
      const target = this.#random() < 0.5 ? thing : thing.id;
      const group = this.#random() < 0.5 ? "a" : "b";
      await this.sync.update("items", target, { n: thing.n + 1, group });
    } else if (choice < 0.9)
      await this.sync.replace("items", thing, { name: thing.name, n: 0, group: "b" });
    else {
      await this.sync.remove("items", thing);
      this.removed.add(thing.id);
    }
  }

  #oneCounter(): readonly string[] {
    return [this.#pick(counters) ?? ""];
  }

  async #create(): Promise<void> {
    const group = this.#random() < 0.5 ? "a" : "b";
    await this.sync.create("items", { name: `${this.name}-${this.#made++}`, n: 0, group });
  }

  openForm(): void {
    this.#form = this.all.get(this.#pick(counters) ?? "");
  }

  /** From a state that may be old by now: that is a conflict, not a loss. */
  async submitForm(): Promise<void> {
    const form = this.#form;
    if (!form) return;
    await this.sync.update("items", form, { n: form.n + 1 });
    this.#form = undefined;
    this.#count(form.id, 1);
  }

  async increment(ids: readonly string[]): Promise<void> {
    const shown = ids.map((id) => this.all.get(id)).filter((one) => one !== undefined);
    if (shown.length === 0) return;
    const isById = this.#random() < 0.5;
    await this.sync.together((write) => {
      for (const one of shown) write.update("items", isById ? one.id : one, { n: one.n + 1 });
    });
    for (const { id } of shown) this.#count(id, 1);
    this.#form = undefined;
  }

  #count(id: string, by: number): void {
    this.increments.set(id, (this.increments.get(id) ?? 0) + by);
  }

  async decide(): Promise<void> {
    const conflict = this.#pick(this.sync.conflicts);
    if (!conflict) return;
    this.#form = undefined;
    const { write, current, base } = conflict;
    assert.ok([404, 412].includes(conflict.problem.status), conflict.problem.message);
    const choice = this.#random();
    if (choice < 0.25) return this.#giveUp(conflict);
    if (isCounter(write.id)) {
      assert.ok(current);
      return this.sync.resolve(conflict, { n: current.n + 1 });
    }
    if (!current) this.createdAgain.add(write.id);
    if (write.kind === "remove" && choice >= 0.6) this.removed.delete(write.id);
    await this.sync.resolve(conflict, choice < 0.6 ? "mine" : { n: (base?.n ?? 0) + 100 });
  }

  async #giveUp(conflict: SyncConflict<Collections>): Promise<void> {
    await this.network.off();
    const before = this.sync.pending;
    await this.sync.resolve(conflict, "theirs");
    for (const write of before.filter(({ id }) => !this.sync.pending.some((one) => one.id === id)))
      for (const { id, kind } of write.changes) {
        if (isCounter(id)) this.#count(id, -1);
        if (kind === "remove") this.removed.delete(id);
      }
    this.network.isOn = true;
  }
}

async function play(seed: number, steps: number, kills: number): Promise<void> {
  const random = randomNumbers(seed);
  const cwd = await mkdtemp(join(tmpdir(), "restante-sync-"));
  const server = new Server(cwd);
  await server.start();
  const people = ["ada", "bob"].map((name) => new Person(name, server, random));
  try {
    const items = new Client<Collections>(server.url, { token: server.secret }).collection("items");
    for (const id of counters) await items.replace(id, { name: id, n: 0, group: "a" });
    for (const person of people) await person.open();
    let left = kills;
    for (let step = 0; step < steps; step++) {
      const [person, other] = (random() < 0.5 ? people : people.toReversed()) as [Person, Person];
      const choice = random();
      if (choice < 0.35) await person.write();
      else if (choice < 0.45) person.openForm();
      else if (choice < 0.55) await person.submitForm();
      else if (choice < 0.7) await person.sync.now();
      else if (choice < 0.85) await person.decide();
      else if (choice < 0.9) person.network.isOn = !person.network.isOn;
      else if (choice < 0.96) {
        await other.write();
        await other.sync.now();
        await person.crash();
      } else if (left > 0 && step > (steps / (kills + 1)) * (kills - left)) {
        left--;
        await server.kill();
        await person.write();
        await server.start();
      }
    }
    await settle(people);
    await check(people, new Client<Collections>(server.url, { token: server.secret }));
  } finally {
    for (const person of people) await person.close();
    await server.kill();
    await rm(cwd, { recursive: true });
  }
}

/** With a good network, everything is sent, decided and read. */
async function settle(people: readonly Person[]): Promise<void> {
  for (const { network } of people) Object.assign(network, { cuts: 0, isOn: true });
  for (let round = 0; round < 400; round++) {
    for (const person of people) {
      await person.sync.now();
      await person.decide();
    }
    if (people.every(({ sync }) => sync.pending.length === 0)) break;
  }
  for (const { sync } of people) {
    await sync.now();
    assert.deepEqual([sync.pending, sync.conflicts, sync.status], [[], [], "idle"]);
  }
}

async function check(people: readonly Person[], api: Client<Collections>): Promise<void> {
  const stored: Item[] = [];
  for await (const one of api.collection("items").all()) stored.push(one);
  stored.sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const { all, ofGroup, name, network, faults } of people) {
    assert.deepEqual(faults, [], name);
    assert.deepEqual(all.all(), stored, name);
    assert.deepEqual(
      ofGroup.all(),
      stored.filter(({ group }) => group === "a"),
      name,
    );
    assert.ok([...network.done.values()].every((times) => times === 1));
  }
  for (const id of counters) {
    const wanted = people.reduce((sum, { increments }) => sum + (increments.get(id) ?? 0), 0);
    assert.equal(stored.find((one) => one.id === id)?.n, wanted, id);
  }
  const names = stored.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  const again = new Set(people.flatMap(({ createdAgain }) => [...createdAgain]));
  for (const { removed } of people)
    for (const id of removed)
      if (!again.has(id)) assert.ok(!stored.some((one) => one.id === id), `${id} is back`);
}

describe("two clients with a network that fails", () => {
  for (let run = 0; run < runs(1, 40); run++)
    it(`end with equal copies, and nothing is written twice (${run})`, async () => {
      await play(newSeed("sync"), runs(80, 400), runs(1, 3));
    });
});
