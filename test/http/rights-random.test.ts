// What explain says of random writes, and what callers hear of their own rights, is what then happens.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { AccessReport, OwnRights } from "../../src/model/schemas/access-query.ts";
import type { Fields } from "../random-where.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import {
  definition,
  people,
  type Random,
  randomFields,
  randomRules,
  randomWriteRules,
  Server,
  type World,
} from "./random-rules.ts";
import {
  type Caller,
  type Decision,
  type Ruled,
  RulesModel,
  type Stored,
  type Verb,
} from "./rules-model.ts";

/** Some members of a resource. It refers to nothing new, because callers cannot read projects. */
function randomChange(random: Random): Fields {
  const { ref: _, ...fields } = randomFields(random);
  const some = Object.entries(fields).filter(([, value]) => value !== null && random() < 0.25);
  return Object.fromEntries(some);
}

const sortedFields = (right: boolean | { readonly fields: readonly string[] }) =>
  typeof right === "boolean" ? right : { fields: right.fields.toSorted() };

/** Asks what one caller may do, does it, and compares both with the model. */
class Trial {
  readonly #server: Server;
  readonly #world: World;
  readonly #rules: Ruled;
  readonly #name: string;
  readonly #caller: Caller;
  readonly #model: RulesModel;
  readonly #words: string;

  constructor(server: Server, world: World, rules: Ruled, name: string, seed: string) {
    this.#server = server;
    this.#world = world;
    this.#rules = rules;
    this.#name = name;
    this.#caller = world.callers[name] as Caller;
    this.#model = this.#modelOf(rules);
    this.#words = `${seed}, ${JSON.stringify(rules)}, ${name} ${JSON.stringify(this.#caller)}`;
  }

  #modelOf(rules: Ruled): RulesModel {
    return new RulesModel("things", rules, ["ref"], ({ fields }) => ({
      ref: this.#world.projects[`${fields.ref}`],
    }));
  }

  async run(random: Random): Promise<void> {
    await this.#askRights();
    await this.#create(random);
    for (const thing of this.#world.things) {
      await this.#askRights(thing);
      await this.#createAt(thing, randomChange(random));
      await this.#update(thing, randomChange(random));
      await this.#remove(thing);
    }
  }

  async #askRights(thing?: Stored): Promise<void> {
    const [model, caller] = [this.#model, this.#caller];
    const about = `own rights: ${this.#words}, ${JSON.stringify(thing)}`;
    const path = thing === undefined ? "" : `/${thing.id}`;
    const { status, body } = await this.#server.send(this.#name, "GET", `/-/access/things${path}`);
    const grants = (verb: Verb) =>
      thing === undefined || verb === "create"
        ? model.grants(caller, verb)
        : model.holding(caller, verb, thing);
    const [read, update, remove] = [grants("read"), grants("update"), grants("delete")];
    const mayAny = verbs.some((verb) => model.grants(caller, verb).length > 0);
    const reads = model.grants(caller, "read").length > 0;
    const isSeen = reads ? read.length > 0 : update.length + remove.length > 0;
    if (thing !== undefined && mayAny && !isSeen) return assert.equal(status, 404, about);
    assert.equal(status, 200, about);
    const rights = JSON.parse(body) as OwnRights;
    assert.deepEqual(
      { ...rights, create: sortedFields(rights.create), update: sortedFields(rights.update) },
      {
        read: read.length > 0,
        create: sortedFields(model.offered(grants("create"), [])),
        update: sortedFields(model.offered(update, model.fixed())),
        delete: remove.length > 0,
      },
      about,
    );
  }

  async #explain(verb: Verb, more: object): Promise<AccessReport> {
    const { subject, roles } = this.#caller;
    const who = subject === undefined ? {} : { subject, roles, scopes: people[this.#name]?.own };
    const asked = { ...who, verb, collection: "things", ...more };
    const { status, body } = await this.#server.send("admin", "QUERY", "/-/access", asked);
    assert.equal(status, 200, body);
    return JSON.parse(body);
  }

  /** Each grant is tried as if it were the only one. */
  #allowing(verb: Verb, decide: (model: RulesModel) => Decision): readonly string[] {
    const { access } = this.#rules;
    const grants = access[verb] as readonly { readonly name: string }[];
    const isEnough = (grant: object) => {
      const rules = { ...this.#rules, access: { ...access, [verb]: [grant] } } as Ruled;
      return decide(this.#modelOf(rules)).status < 300;
    };
    return grants.filter(isEnough).map(({ name }) => name);
  }

  async #compare(
    verb: Verb,
    asked: object,
    decide: (model: RulesModel) => Decision,
    allowing = this.#allowing(verb, decide),
  ) {
    const decision = decide(this.#model);
    const about = `${verb} ${JSON.stringify(asked)}: ${this.#words}`;
    const report = await this.#explain(verb, asked);
    assert.deepEqual(
      {
        ...{ allowed: report.allowed, status: report.status, grant: report.grant },
        allowing: report.grants.filter(({ allows }) => allows).map(({ name }) => name),
      },
      {
        ...{ allowed: decision.status < 300, status: decision.status, grant: decision.grant },
        allowing,
      },
      `explain ${about}`,
    );
    for (const { check, allows } of report.grants)
      if (check !== undefined && (allows || report.boundary === undefined))
        assert.equal(
          check.every(({ holds }) => holds),
          allows,
          `explain check of ${about}`,
        );
    return { decision, about };
  }

  async #create(random: Random): Promise<void> {
    const change = randomChange(random);
    const { decision, about } = await this.#compare("create", { change }, (model) =>
      model.create(this.#caller, "new", change),
    );
    const { status } = await this.#server.send(this.#name, "PUT", "/things/new", change);
    assert.equal(status, decision.status, about);
    if (decision.after === undefined) return;
    await this.#assertStored(decision.after, about);
    await this.#server.must("DELETE", "/things/new");
  }

  /** It is there: no grant to create decides. */
  async #createAt({ id, ...thing }: Stored, change: Fields): Promise<void> {
    const { decision, about } = await this.#compare(
      "create",
      { id, change },
      (model) => model.createAt(this.#caller, { id, ...thing }, change),
      [],
    );
    const isNew = { "if-none-match": "*" };
    const path = `/things/${id}`;
    const { status } = await this.#server.send(this.#name, "PUT", path, change, isNew);
    assert.equal(status, decision.status, about);
  }

  async #update(thing: Stored, change: Fields): Promise<void> {
    const { decision, about } = await this.#compare("update", { id: thing.id, change }, (model) =>
      model.update(this.#caller, thing, change),
    );
    const { status } = await this.#server.send(this.#name, "PATCH", `/things/${thing.id}`, change);
    // Who may not read it gets no body.
    assert.equal(status === 204 ? 200 : status, decision.status, about);
    await this.#assertStored(decision.after ?? thing, about);
    if (decision.after) await this.#server.must("PUT", `/things/${thing.id}`, thing.fields);
  }

  async #remove(thing: Stored): Promise<void> {
    // They allow it also where the caller does not see the resource.
    const holding = this.#model.holding(this.#caller, "delete", thing);
    const { decision, about } = await this.#compare(
      "delete",
      { id: thing.id },
      (model) => model.remove(this.#caller, thing),
      holding.map(({ name }) => name),
    );
    const { status } = await this.#server.send(this.#name, "DELETE", `/things/${thing.id}`);
    assert.equal(status, decision.status, about);
    if (status === 204) await this.#server.store(thing);
  }

  /** What is stored tells which grant has decided, by what it sets. */
  async #assertStored({ id, fields }: Stored, about: string): Promise<void> {
    const { body } = await this.#server.must("GET", `/things/${id}`);
    const { id: _, createdAt: __, updatedAt: ___, ...stored } = JSON.parse(body);
    assert.deepEqual(stored, fields, about);
  }
}

const verbs: readonly Verb[] = ["read", "create", "update", "delete"];
const [thingCount, rulesPerWorld] = [2, runs(4, 6)];

for (const store of storesHere(undefined, [undefined, "postgres"]))
  describe(`rights by random rules, on ${store ?? "sqlite"}`, () => {
    let app: TestApp;
    let server: Server;
    before(async () => {
      app = await startApp({ store });
      server = new Server(app);
      await server.prepare();
    });
    after(() => app.stop());

    it("are what is explained, what callers hear, and what is done", async () => {
      const seed = newSeed(`random rights on ${store ?? "sqlite"}`);
      for (let run = 0; run < runs(2, store === undefined ? 600 : 100); run++) {
        const random = randomNumbers(seed + run);
        const world = await server.begin(random, thingCount);
        for (let index = 0; index < rulesPerWorld; index++) {
          const rules = randomWriteRules(random, randomRules(random));
          await server.must("PUT", "/-/collections/things", { ...definition, ...rules });
          for (const name of Object.keys(people))
            await new Trial(server, world, rules, name, `seed ${seed + run}`).run(random);
        }
      }
    });
  });
