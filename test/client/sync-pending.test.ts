// Pending writes of one client, others' writes and decisions in random order, compared with a plain model.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client } from "../../client/index.ts";
import { memory, type StoredRecord, Sync } from "../../client/sync/index.ts";
import { startApp, type TestApp } from "../http/app.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";

type Fields = Readonly<Record<string, number>>;
interface Collections {
  readonly items: { readonly resource: Fields & { readonly id: string }; readonly draft: Fields };
}

let app: TestApp;
before(async () => {
  app = await startApp();
});
after(() => app.stop());

type Random = () => number;
const pick = <T>(random: Random, choices: readonly T[]): T =>
  choices[Math.floor(random() * choices.length)] as T;

/** What a change was made from: the server's version, or a write that was to be sent before. */
type Seen = number | string;

interface Change {
  readonly id: string;
  readonly kind: "update" | "replace";
  readonly body: Fields;
  readonly seen: Seen;
}

interface Write {
  readonly id: string;
  readonly changes: readonly Change[];
  /** The change that was refused. */
  readonly refused?: number;
}

interface State {
  readonly fields: Fields;
  readonly version: number;
}

/** With the own write that has led to it. */
interface Row extends State {
  readonly by?: string | undefined;
}

const changed = (before: Fields, { kind, body }: Pick<Change, "kind" | "body">): Fields =>
  kind === "update" ? { ...before, ...body } : body;

const touches = (write: Write, ids: ReadonlySet<string>): boolean =>
  write.changes.some(({ id }) => ids.has(id));

/** What the server has, what the client knows of it, and what waits, as docs/sync.md says it. */
class Model {
  readonly server = new Map<string, State>();
  rows = new Map<string, Row>();
  writes: readonly Write[] = [];

  /** Somebody writes to the server. */
  put(id: string, change: Pick<Change, "kind" | "body">): void {
    const before = this.server.get(id) ?? { fields: {}, version: 0 };
    this.server.set(id, { fields: changed(before.fields, change), version: before.version + 1 });
  }

  add(id: string, changes: readonly Omit<Change, "seen">[]): void {
    const seenOf = (of: string): Seen =>
      this.writes.findLast((write) => touches(write, new Set([of])))?.id ?? this.#row(of).version;
    const made = changes.map((change) => ({ ...change, seen: seenOf(change.id) }));
    this.writes = [...this.writes, { id, changes: made }];
  }

  #row(id: string): Row {
    return this.rows.get(id) ?? assert.fail(id);
  }

  /** In order, but for those behind a refused one that has a resource in common with them. */
  send(): void {
    const blocked = new Set<string>();
    const left: Write[] = [];
    for (const write of this.writes) {
      const waits = write.refused !== undefined || touches(write, blocked);
      const refused = waits ? write.refused : this.#send(write);
      if (!waits && refused === undefined) continue;
      left.push(refused === undefined ? write : { ...write, refused });
      for (const { id } of write.changes) blocked.add(id);
    }
    this.writes = left;
    for (const [id, state] of this.server) {
      const row = this.rows.get(id);
      if (row?.version !== state.version) this.rows.set(id, state);
    }
  }

  /** Returns the change that is refused: nothing of the write is done then. */
  #send({ id: by, changes }: Write): number | undefined {
    const at = changes.findIndex(({ id, seen }) => {
      const row = this.#row(id);
      const version = row.by !== undefined && row.by === seen ? row.version : seen;
      return version !== this.server.get(id)?.version;
    });
    if (at >= 0) return at;
    for (const change of changes) {
      this.put(change.id, change);
      this.rows.set(change.id, { ...(this.server.get(change.id) as State), by });
    }
    return undefined;
  }

  /** Drops a refused write, and those behind it that share a resource with one that is dropped. */
  dropFrom(id: string): void {
    const ids = new Set<string>();
    const at = this.writes.findIndex((write) => write.id === id);
    this.writes = this.writes.filter((write, index) => {
      if (index < at || (index > at && !touches(write, ids))) return true;
      for (const change of write.changes) ids.add(change.id);
      return false;
    });
  }

  /** With a body, what waits behind it was made from a state that will not be. */
  replace(id: string, newId: string, body?: Fields): void {
    this.writes = this.writes.map((write) => {
      if (write.id !== id) return write;
      const changes = write.changes.map((change, index): Change => {
        if (index !== write.refused) return change;
        const seen = this.#row(change.id).version;
        return body ? { id: change.id, kind: "update", body, seen } : { ...change, seen };
      });
      return { id: newId, changes };
    });
  }

  shown(): readonly (readonly [id: string, fields: Fields])[] {
    return [...this.rows].map(([id, { fields }]) => {
      const own = this.writes.flatMap(({ changes }) => changes.filter((each) => each.id === id));
      return [id, own.reduce(changed, fields)] as const;
    });
  }
}

const ids = ["a", "b", "c"];

/** A client that sends and reads only in `now`. */
async function open() {
  let isOn = true;
  const network = async (input: string | URL | Request, init?: RequestInit) => {
    if (!isOn) throw new TypeError("cut");
    return fetch(input, init);
  };
  const options = { token: app.admin };
  const items = new Client<Collections>(app.url, options).collection("items");
  for (const id of ids) await items.replace(id, { n: 0 });
  const client = new Client<Collections>(app.url, { ...options, fetch: network as typeof fetch });
  const sync = await Sync.open(client, { everyMs: 3_600_000, waitMs: 3_600_000 });
  const all = await sync.copy("items").ready();
  const now = async (): Promise<void> => {
    isOn = true;
    await sync.now();
    isOn = false;
  };
  await now();
  return { items, sync, all, now };
}

async function play(seed: number, steps: number): Promise<void> {
  const random = randomNumbers(seed);
  const model = new Model();
  const { items, sync, all, ...client } = await open();
  for (const id of ids) model.put(id, { kind: "replace", body: { n: 0 } });
  model.send();

  let last = 0;
  /** No value comes twice, so that a lost change is seen. */
  const body = (): Fields => ({ [pick(random, ["n", "m"])]: ++last });
  const kind = () => pick(random, ["update", "update", "replace"] as const);

  async function write(): Promise<void> {
    const some = ids.filter(() => random() < 0.4);
    const changes = some.map((id) => ({ id, kind: kind(), body: body() }));
    await sync.together((write) => {
      for (const { id, kind, body } of changes) write[kind]("items", id, body);
    });
    if (changes.length > 0) model.add(sync.pending.at(-1)?.id ?? "", changes);
  }

  async function decide(): Promise<void> {
    const conflict = pick(random, sync.conflicts);
    if (!conflict) return;
    const at = sync.pending.findIndex(({ id }) => id === conflict.pending);
    const choice = pick(random, ["mine", "mine", "mine", "theirs", body()] as const);
    await sync.resolve(conflict, choice);
    if (choice === "theirs") return model.dropFrom(conflict.pending);
    const newId = sync.pending[at]?.id ?? "";
    assert.equal(newId === conflict.pending, choice === "mine");
    model.replace(conflict.pending, newId, choice === "mine" ? undefined : choice);
  }

  async function now(): Promise<void> {
    await client.now();
    model.send();
  }

  async function other(): Promise<void> {
    const change = { id: pick(random, ids), kind: kind(), body: body() };
    await items[change.kind](change.id, change.body);
    model.put(change.id, change);
  }

  const fieldsOf = ({ id, createdAt: _, updatedAt: __, ...fields }: Fields & { id: string }) =>
    [id, fields] as const;

  try {
    for (let step = 0; step < steps; step++) {
      await pick(random, [write, write, write, other, now, now, decide])();
      const words = `seed ${seed}, step ${step}`;
      assert.deepEqual(
        sync.pending.map(({ id, changes, refusal }) => ({
          id,
          changes: changes.map(({ id, kind, body }) => ({ id, kind, body })),
          refused: refusal?.at,
        })),
        model.writes.map(({ id, changes, refused }) => ({
          id,
          changes: changes.map(({ id, kind, body }) => ({ id, kind, body })),
          refused,
        })),
        words,
      );
      assert.deepEqual(
        sync.conflicts.map(({ write, current }) => [write.id, current && fieldsOf(current)[1]]),
        model.writes.flatMap(({ changes, refused }) => {
          const id = refused === undefined ? undefined : changes[refused]?.id;
          return id === undefined ? [] : [[id, model.rows.get(id)?.fields]];
        }),
        words,
      );
      assert.deepEqual(all.all().map(fieldsOf), model.shown(), words);
    }
    const { data } = await items.list();
    assert.deepEqual(
      new Map(data.map(fieldsOf)),
      new Map([...model.server].map(([id, { fields }]) => [id, fields])),
      `seed ${seed}`,
    );
  } finally {
    await sync.close();
  }
}

describe("pending writes", () => {
  it("are sent, refused, decided and shown as a model says", async () => {
    const seed = newSeed("pending writes");
    for (let run = 0; run < runs(12, 400); run++) await play(seed + run, 40);
  });

  it("that were made from one that is sent are refused when others have written since", async () => {
    const { items, sync, now } = await open();
    try {
      await items.update("b", { n: 1 });
      await sync.update("items", "b", { m: 2 });
      await sync.update("items", "a", { n: 3 });
      await sync.together((write) => {
        write.update("items", "a", { m: 4 });
        write.update("items", "b", { m: 5 });
      });
      await now();
      const [first] = sync.conflicts;
      assert.equal(first?.write.id, "b");
      await items.update("a", { n: 6 });
      await now();
      await sync.resolve(first, "mine");
      await now();
      const [second] = sync.conflicts;
      assert.deepEqual(
        [second?.write.id, second?.current?.n, second?.current?.m],
        ["a", 6, undefined],
      );
    } finally {
      await sync.close();
    }
  });

  it("that were refused before stay when a later one is dropped", async () => {
    const refusal = { at: 0, problem: { status: 412, kind: "x", message: "x", errors: [] } };
    const write = (id: string, order: number, paths: string, isRefused: boolean): StoredRecord => [
      `write/${id}`,
      {
        ...{ id, key: id, order, ...(isRefused && { refusal }) },
        changes: [...paths].map((path) => ({
          ...{ kind: "update", collection: "items", id: path, body: { n: order } },
        })),
      },
    ];
    const storage = memory();
    // Tabs that write in the same millisecond can have the first two.
    await storage.save([
      write("1", 1, "a", true),
      write("2", 1, "ab", true),
      write("3", 3, "bc", false),
      write("4", 4, "c", true),
      write("5", 5, "d", false),
    ]);
    const cut = async () => Promise.reject(new TypeError("cut"));
    const client = new Client<Collections>(app.url, { fetch: cut as unknown as typeof fetch });
    const sync = await Sync.open(client, { storage, everyMs: 3_600_000, waitMs: 3_600_000 });
    try {
      const conflict = sync.conflicts.find(({ pending }) => pending === "2");
      assert.ok(conflict);
      await sync.resolve(conflict, "theirs");
      assert.deepEqual(
        sync.pending.map(({ id }) => id),
        ["1", "5"],
      );
    } finally {
      await sync.close();
    }
  });
});
