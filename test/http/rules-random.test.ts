// Random rules, resources and callers get one answer, whichever way it is asked: explain, one resource, list,
// total, aggregate, and conditions of the caller.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { AccessReport } from "../../src/model/schemas/access-query.ts";
import { type Fields, matches } from "../random-where.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import {
  definition,
  people,
  pick,
  plainLeaf,
  type Random,
  randomRules,
  randomWhere,
  Server,
  type World,
} from "./random-rules.ts";
import { type Caller, type Ruled, RulesModel, type Stored } from "./rules-model.ts";

const idsOf = (data: readonly Fields[]) => data.map(({ id }) => `${id}`).toSorted();

/** The fields without the server's, apart from whether there is a time. */
const fieldsOf = ({ id: _, createdAt: __, updatedAt, ...fields }: Fields): Fields =>
  updatedAt === undefined ? fields : { ...fields, updatedAt: true };

/** Asks one caller's questions, and compares the answers with the model. */
class Questions {
  readonly #server: Server;
  readonly #world: World;
  readonly #model: RulesModel;
  readonly #words: string;

  constructor(server: Server, world: World, rules: Ruled, words: string) {
    this.#server = server;
    this.#world = world;
    this.#words = words;
    this.#model = new RulesModel("things", rules, ["ref"], ({ fields }) => ({
      ref: world.projects[`${fields.ref}`],
    }));
  }

  async ask(name: string, random: Random): Promise<void> {
    const caller = this.#world.callers[name] as Caller;
    const words = `${this.#words}, ${name} ${JSON.stringify(caller)}`;
    const isAllowed = this.#model.grants(caller, "read").length > 0;
    const refused = caller.subject === undefined ? 401 : 403;
    const seen = this.#world.things.filter((thing) => this.#model.isVisible(caller, thing));
    const ids = seen.map(({ id }) => id).toSorted();
    const missing = isAllowed ? 404 : refused;

    for (const thing of this.#world.things) {
      const status = seen.includes(thing) ? 200 : missing;
      const about = `${words}, ${JSON.stringify(thing)}`;
      const one = await this.#server.send(name, "GET", `/things/${thing.id}`);
      assert.equal(one.status, status, `GET: ${about} ${one.body}`);
      if (status === 200)
        assert.deepEqual(fieldsOf(JSON.parse(one.body)), this.#model.shown(caller, thing), about);
      const explained = await this.#explain(name, caller, thing.id, random);
      const holding = this.#model.holding(caller, "read", thing).map((grant) => grant.name);
      const allowing = explained.grants.filter(({ allows }) => allows).map((grant) => grant.name);
      assert.deepEqual(
        [explained.allowed, explained.status, explained.grant, allowing],
        [status === 200, status, holding[0], holding],
        `explain: ${about}`,
      );
      for (const { name, where = [] } of explained.grants)
        assert.equal(
          where.every(({ holds }) => holds),
          this.#model.holdsBefore(caller, "read", name, thing),
          `explain where of ${name}: ${about}`,
        );
    }
    if (!isAllowed) {
      for (const query of ["", "?aggregate=count"])
        assert.equal(
          (await this.#server.send(name, "GET", `/things${query}`)).status,
          refused,
          words,
        );
      return;
    }
    const list = await this.#list(name, "limit=100", words);
    assert.deepEqual([idsOf(list.data), list.total], [ids, ids.length], `list: ${words}`);
    for (const each of list.data) {
      const thing = seen.find(({ id }) => id === each.id) as Stored;
      assert.deepEqual(fieldsOf(each), this.#model.shown(caller, thing), `list: ${words}`);
    }
    const [group] = (await this.#list(name, "aggregate=count", words)).data;
    assert.deepEqual(group, { count: ids.length }, `aggregate: ${words}`);
    await this.#askMore(name, caller, seen, words, random);
  }

  /** A condition of the caller counts a field that is not shown as missing. */
  async #askMore(
    name: string,
    caller: Caller,
    seen: readonly Stored[],
    words: string,
    random: Random,
  ) {
    const where = randomWhere(random, (random) => plainLeaf(random, (value) => value), 1);
    const found = seen.filter((thing) => matches(this.#model.shown(caller, thing), where));
    const asked = JSON.stringify(where);
    const answer = await this.#list(name, `where=${encodeURIComponent(asked)}`, words);
    const ids = found.map(({ id }) => id).toSorted();
    assert.deepEqual([idsOf(answer.data), answer.total], [ids, ids.length], `${asked}: ${words}`);

    const field = pick(random, ["t", "n", "who"]);
    const isShown = this.#model.showsAlways(caller, field);
    for (const query of [`sort=${field}`, `aggregate=count&by=${field}`]) {
      const { status, body } = await this.#server.send(name, "GET", `/things?${query}`);
      assert.equal(status, isShown ? 200 : 400, `${query}: ${words} ${body}`);
      if (!isShown || query.startsWith("sort")) continue;
      const counts = JSON.parse(body).data.map((group: Fields) => [
        group[field] ?? null,
        group.count,
      ]);
      const expected = new Map<unknown, number>();
      for (const { fields } of seen)
        expected.set(fields[field] ?? null, (expected.get(fields[field] ?? null) ?? 0) + 1);
      assert.deepEqual(new Map(counts), expected, `${query}: ${words}`);
    }
  }

  async #explain(name: string, { subject, roles }: Caller, id: string, random: Random) {
    const given = random() < 0.5 ? {} : { roles, scopes: people[name]?.own };
    const who = subject === undefined ? {} : { subject, ...given };
    const asked = { ...who, verb: "read", collection: "things", id };
    const { status, body } = await this.#server.send("admin", "QUERY", "/-/access", asked);
    assert.equal(status, 200, body);
    return JSON.parse(body) as AccessReport;
  }

  async #list(name: string, query: string, words: string) {
    const { status, body } = await this.#server.send(name, "GET", `/things?${query}`);
    assert.equal(status, 200, `${query}: ${words} ${body}`);
    return JSON.parse(body) as { readonly data: readonly Fields[]; readonly total: number };
  }
}

const [thingCount, rulesPerWorld] = [runs(6, 12), 6];
const decisionsPerWorld = thingCount * rulesPerWorld * Object.keys(people).length;

for (const store of storesHere("postgres", [undefined, "postgres"]))
  describe(`random rules, on ${store ?? "sqlite"}`, () => {
    let app: TestApp;
    let server: Server;
    before(async () => {
      app = await startApp({ store });
      server = new Server(app);
      await server.prepare();
    });
    after(() => app.stop());

    it("have one meaning", async () => {
      const seed = newSeed(`random rules on ${store ?? "sqlite"}`, 1);
      // Both runtimes and engines together make a million decisions in a long run.
      const decisions = runs(decisionsPerWorld, store === undefined ? 400_000 : 100_000);
      const worlds = Math.ceil(decisions / decisionsPerWorld);
      for (let run = 0; run < worlds; run++) {
        if (run % 25 === 24) console.log(`${run * decisionsPerWorld} decisions are right`);
        const random = randomNumbers(seed + run);
        const world = await server.begin(random, thingCount);
        for (let index = 0; index < rulesPerWorld; index++) {
          const rules = randomRules(random);
          await server.must("PUT", "/-/collections/things", { ...definition, ...rules });
          const words = `seed ${seed + run}, ${JSON.stringify(rules)}`;
          const questions = new Questions(server, world, rules, words);
          for (const name of Object.keys(people)) await questions.ask(name, random);
        }
      }
    });
  });
