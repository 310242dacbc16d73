// What follows from the deletions of random batches is what a plain model of the references says, in whatever pages it is read.

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { referringLimits } from "../../src/domain/write/referring.ts";
import { lowerLimit } from "../lower-limit.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { itOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { assertProblem } from "./expect.ts";

type Random = () => number;
const pick = <T>(random: Random, choices: readonly T[]): T =>
  choices[Math.floor(random() * choices.length)] as T;

/** So small that some of the batches reach it. */
const maxCascade = 4;
const rules = ["restrict", "cascade", "cascade", "unset"] as const;
const collections = ["firms", "goods", "sales"] as const;
/** The collections of the references. */
const references = {
  firms: { parent: "firms" },
  goods: { firm: "firms", maker: "firms" },
  sales: { firm: "firms", good: "goods", gift: "goods" },
} as const;

type Kind = (typeof rules)[number];
interface Link {
  readonly from: string;
  readonly field: string;
  readonly to: string;
  readonly onDelete: Kind;
}

/** Addresses, and what each refers to by its fields; `n` is a count. */
type Fields = Readonly<Record<string, string | number>>;
type State = Map<string, Fields>;

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly contentType?: string;
}

const randomLinks = (random: Random): readonly Link[] =>
  Object.entries(references).flatMap(([from, fields]) =>
    Object.entries(fields).map(([field, to]) => ({
      ...{ from, field, to },
      onDelete: pick(random, rules),
    })),
  );

function randomState(random: Random, links: readonly Link[]): State {
  const counts = { firms: 3, goods: 4, sales: 12 };
  const state: State = new Map();
  for (const collection of collections)
    for (let index = 0; index < counts[collection]; index++) {
      const fields = links
        .filter(({ from, to }) => from === collection && (to !== from || index > 0))
        .filter(() => random() < 0.6)
        .map(({ field, to, from }) => {
          const most = to === from ? index : counts[to as "firms"];
          return [field, `${to[0]}${Math.floor(random() * most)}`] as const;
        });
      state.set(`${collection}/${collection[0]}${index}`, Object.fromEntries(fields));
    }
  return state;
}

/** Deletes, and changes references and counts, also several times in one resource. */
function randomOperation(random: Random, links: readonly Link[], state: State): Operation {
  const address = pick(random, [...state.keys()]);
  const path = `/${address}`;
  const kind = pick(random, ["delete", "delete", "patch", "count", "put"]);
  if (kind === "delete") return { method: "DELETE", path };
  const contentType = "application/vnd.restante.operations+json";
  if (kind === "count")
    return { method: "PATCH", path, body: { increment: { n: 1 } }, contentType };
  const { field, to } = pick(
    random,
    links.filter(({ from }) => address.startsWith(`${from}/`)),
  );
  const target = random() < 0.3 ? undefined : `${to[0]}${Math.floor(random() * 4)}`;
  if (kind === "put") return { method: "PUT", path, body: target ? { [field]: target } : {} };
  return { method: "PATCH", path, body: { [field]: target ?? null } };
}

const withoutNull = (fields: object): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** Returns what an operation leaves at its address; undefined when there is nothing to change. */
function fieldsAfter({ method, body = {} }: Operation, before: Fields | undefined) {
  if (method === "PUT") return withoutNull(body);
  if (before === undefined) return undefined;
  if ("increment" in body) return { ...before, n: Number(before.n ?? 0) + 1 };
  return withoutNull({ ...before, ...body });
}

/** Returns the state after a batch, or undefined when it is rejected. */
function afterBatch(
  state: State,
  links: readonly Link[],
  operations: readonly Operation[],
): State | undefined {
  const after: State = new Map(state);
  const written = new Set<string>();
  const deleted = new Set<string>();
  for (const operation of operations) {
    const address = operation.path.slice(1);
    const fields = fieldsAfter(operation, after.get(address));
    const isDeletion = operation.method === "DELETE";
    if (isDeletion ? !after.has(address) : fields === undefined) return undefined;
    written.add(address);
    if (isDeletion) deleted.add(address);
    if (isDeletion || fields === undefined) after.delete(address);
    else after.set(address, fields);
  }
  const own = deleted.size;
  const linksOf = (address: string, kind: Kind) =>
    links.filter(({ from, field, to, onDelete }) => {
      const id = state.get(address)?.[field];
      return onDelete === kind && address.startsWith(`${from}/`) && deleted.has(`${to}/${id}`);
    });
  // What the batch writes is not touched.
  const others = () => [...state.keys()].filter((each) => !written.has(each) && !deleted.has(each));
  for (let size = -1; size !== deleted.size; ) {
    size = deleted.size;
    for (const address of others())
      if (linksOf(address, "cascade").length > 0) {
        deleted.add(address);
        after.delete(address);
      }
  }
  const changed = others().filter((address) => linksOf(address, "unset").length > 0);
  if (others().some((address) => linksOf(address, "restrict").length > 0)) return undefined;
  if (deleted.size - own + changed.length > maxCascade) return undefined;
  for (const address of changed) {
    const lost = linksOf(address, "unset").map(({ field }) => field);
    const kept = Object.entries(after.get(address) ?? {}).filter(([name]) => !lost.includes(name));
    after.set(address, Object.fromEntries(kept));
  }
  const isDangling = links.some(({ from, field, to }) =>
    [...written].some((address) => {
      const id = after.get(address)?.[field];
      return address.startsWith(`${from}/`) && id !== undefined && !after.has(`${to}/${id}`);
    }),
  );
  return isDangling ? undefined : after;
}

const sorted = (state: State) => [...state].toSorted(([one], [other]) => (one < other ? -1 : 1));

for (const store of ["sqlite", "postgres"]) {
  const it = itOn(store);
  describe(`deletions that others follow, on ${store}`, () => {
    lowerLimit(referringLimits, "page", 2, 100);
    let app: TestApp;
    let client: Client;
    before(async () => {
      app = await startApp({ ...(store === "postgres" && { store }), maxCascade });
      client = new Client(app);
    });
    after(() => app.stop());

    const begin = async (links: readonly Link[], state: State) => {
      for (const name of collections.toReversed())
        await client.remove(`/-/collections/${name}?confirm=${name}`);
      for (const name of collections) {
        const own = links
          .filter(({ from }) => from === name)
          .map(({ field, to: collection, onDelete }) => [field, { collection, onDelete }]);
        const body = { references: Object.fromEntries(own) };
        const { status } = await client.put(`/-/collections/${name}`, body);
        assert.equal(status, 201);
      }
      const puts = [...state].map(([address, body]) => ({
        ...{ method: "PUT", path: `/${address}`, body },
      }));
      assert.equal((await client.batch(puts)).status, 200);
    };

    const stored = async (): Promise<State> => {
      const state: State = new Map();
      for (const name of collections) {
        const { data } = await client.json<{ data: Fields[] }>(`/${name}?limit=1000`);
        for (const { id, createdAt: _, updatedAt: __, ...fields } of data)
          state.set(`${name}/${id}`, fields);
      }
      return state;
    };

    it("leave what a model says", async () => {
      const seed = newSeed(`followed deletions on ${store}`);
      let done = 0;
      for (let run = 0; run < runs(16, 300); run++) {
        const random = randomNumbers(seed + run);
        const links = randomLinks(random);
        const state = randomState(random, links);
        await begin(links, state);
        const operations = Array.from({ length: 1 + Math.floor(random() * 5) }, () =>
          randomOperation(random, links, state),
        );
        const expected = afterBatch(state, links, operations);
        const key = { "idempotency-key": `"${seed + run}"` };
        const { status, body } = await client.batch(operations, key);
        const words = `seed ${seed + run}: ${JSON.stringify({ links, operations, body })}`;
        assert.ok(expected ? status === 200 : [400, 404, 409].includes(status), words);
        assert.deepEqual(sorted(await stored()), sorted(expected ?? state), words);
        if (!expected) continue;
        done++;
        const again = await client.batch(operations, key);
        // Gone: what the batch wrote, it deleted.
        const isReplay =
          again.status === 410 || again.headers.get("idempotency-replayed") === "true";
        assert.ok(isReplay, `${words} again: ${again.body}`);
        assert.deepEqual(sorted(await stored()), sorted(expected), words);
      }
      assert.ok(done > 0);
    });

    it("name what prevents them, whatever else does that the caller cannot read", async () => {
      await client.put("/-/collections/towns", {});
      const mine = { name: "mine", to: "token", where: { who: "ann" } };
      const streets = { references: { town: { collection: "towns" } }, access: { read: [mine] } };
      await client.put("/-/collections/streets", streets);
      await client.put("/towns/rome", {});
      const ann = new Client(app, await app.token("towns:*", "streets:read"));
      const detail = async () => assertProblem(await ann.remove("/towns/rome"), "conflict").detail;
      const hidden = Array.from({ length: runs(5, 105) }, () => '{"town":"rome"}').join("\n");
      await client.post("/streets", hidden, { "content-type": "application/x-ndjson" });
      assert.match(await detail(), /^Other resources refer to this one\. /);
      await client.put("/streets/own", { town: "rome", who: "ann" });
      assert.match(await detail(), /^Other resources refer to this one: \/streets\/own\. /);
    });
  });
}
