// What follows from random deletions is what a plain model of the references says, in whatever pages it is read.

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

const maxCascade = 12;
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

/** Addresses, and what each refers to by its fields. */
type State = Map<string, Readonly<Record<string, string>>>;

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

/** Returns the state after the deletions, or undefined when they are rejected. */
function afterDeletions(
  state: State,
  links: readonly Link[],
  chosen: ReadonlySet<string>,
): State | undefined {
  const deleted = new Set(chosen);
  const linksOf = (address: string, kind: Kind) =>
    links.filter(({ from, field, to, onDelete }) => {
      const id = state.get(address)?.[field];
      return onDelete === kind && address.startsWith(`${from}/`) && deleted.has(`${to}/${id}`);
    });
  for (let size = 0; size !== deleted.size; ) {
    size = deleted.size;
    for (const address of state.keys())
      if (linksOf(address, "cascade").length > 0) deleted.add(address);
  }
  const left = [...state.keys()].filter((address) => !deleted.has(address));
  if (left.some((address) => linksOf(address, "restrict").length > 0)) return undefined;
  const changed = left.filter((address) => linksOf(address, "unset").length > 0);
  if (deleted.size - chosen.size + changed.length > maxCascade) return undefined;
  return new Map(
    left.map((address) => {
      const lost = linksOf(address, "unset").map(({ field }) => field);
      const kept = Object.entries(state.get(address) ?? {}).filter(
        ([name]) => !lost.includes(name),
      );
      return [address, Object.fromEntries(kept)];
    }),
  );
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
        const { data } = await client.json<{ data: Record<string, string>[] }>(
          `/${name}?limit=1000`,
        );
        for (const { id, createdAt: _, updatedAt: __, ...fields } of data)
          state.set(`${name}/${id}`, fields);
      }
      return state;
    };

    it("leave what a model says", async () => {
      const seed = newSeed(`followed deletions on ${store}`);
      let done = 0;
      for (let run = 0; run < runs(12, 300); run++) {
        const random = randomNumbers(seed + run);
        const links = randomLinks(random);
        const state = randomState(random, links);
        await begin(links, state);
        const count = 1 + Math.floor(random() * 3);
        const chosen = new Set(
          Array.from({ length: count }, () => pick(random, [...state.keys()])),
        );
        const expected = afterDeletions(state, links, chosen);
        const operations = [...chosen].map((address) => ({
          ...{ method: "DELETE", path: `/${address}` },
        }));
        const { status, body } = await client.batch(operations);
        const words = `seed ${seed + run}: ${JSON.stringify({ links, chosen: [...chosen], body })}`;
        assert.equal(status, expected ? 200 : 409, words);
        assert.deepEqual(sorted(await stored()), sorted(expected ?? state), words);
        if (expected) done++;
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
