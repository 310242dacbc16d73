// Random rules, resources and callers get one answer, whichever way it is asked: explain, one resource, list,
// total, aggregate, and conditions of the caller.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Fields, matches, type Where } from "../random-where.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { type Caller, type Grant, type Ruled, RulesModel, type Stored } from "./rules-model.ts";

type Random = () => number;
const pick = <T>(random: Random, choices: readonly T[]): T =>
  choices[Math.floor(random() * choices.length)] as T;
const some = <T>(random: Random, choices: readonly T[], share = 0.5): T[] =>
  choices.filter(() => random() < share);

const text = { type: "string" };
const integer = { type: "integer" };
const properties = {
  t: { type: ["string", "null"] },
  n: { type: ["integer", "null"] },
  f: { type: "boolean" },
  d: { type: "string", format: "date-time" },
  l: { type: "array", items: text },
  items: { type: "array", items: { type: "object", properties: { k: text, q: integer } } },
  obj: { type: "object", properties: { a: text, b: integer } },
  who: text,
  team: text,
  ref: text,
};
const names = Object.keys(properties);
const definition = {
  schema: { type: "object", properties },
  references: { ref: { collection: "projects" } },
};

const letters = ["a", "b", "$me", "editor"];
const subjects = ["ann", "bob", "fay"];
const teams = ["red", "blue", "green"];
const projects = ["p0", "p1", "p2"];
const past = "2020-01-01T00:00:00.000Z";
const future = "2999-01-01T00:00:00.000Z";

const people: Readonly<Record<string, Omit<Caller, "sets"> & { readonly own: readonly string[] }>> =
  {
    anonymous: { roles: [], scopes: [], own: [] },
    ann: { subject: "ann", roles: [], scopes: ["things:*"], own: ["things:*"] },
    bob: {
      subject: "bob",
      roles: ["editor"],
      scopes: ["things:*", "misc:read"],
      own: ["things:*"],
    },
    carl: { subject: "carl", roles: ["editor"], scopes: ["misc:read"], own: [] },
    eve: { subject: "eve", roles: [], scopes: ["special:read"], own: ["special:read"] },
    fay: { subject: "fay", roles: ["reader"], scopes: ["things:read"], own: [] },
  };

/** Some fields are missing, some are null. */
function randomFields(random: Random): Fields {
  const all: Fields = {
    t: random() < 0.2 ? null : pick(random, letters),
    n: random() < 0.2 ? null : Math.floor(random() * 3),
    f: random() < 0.5,
    d: pick(random, [past, future]),
    l: some(random, letters),
    items: [0, 1]
      .slice(random() * 3)
      .map(() => ({ k: pick(random, letters), q: Math.floor(random() * 3) })),
    obj: { a: pick(random, letters), b: Math.floor(random() * 3) },
    who: pick(random, subjects),
    team: pick(random, teams),
    ref: pick(random, projects),
  };
  return Object.fromEntries(Object.entries(all).filter(() => random() < 0.75));
}

/** A literal that begins with `$` is written with another. */
const literal = (value: string) => (value.startsWith("$") ? `$${value}` : value);

function textTest(random: Random, choices: readonly string[], write = literal): unknown {
  const one = () => write(pick(random, choices));
  return pick<() => unknown>(random, [
    one,
    () => ({ ne: one() }),
    () => ({ in: [one(), one()] }),
    () => ({ exists: random() < 0.5 }),
    () => ({ startsWith: one() }),
    () => ({ gte: one() }),
  ])();
}

function numberTest(random: Random): unknown {
  const one = () => Math.floor(random() * 3);
  const operator = pick(random, ["eq", "ne", "lt", "lte", "gt", "gte"]);
  return pick<unknown>(random, [
    one(),
    { [operator]: one() },
    { exists: random() < 0.5 },
    { in: [one(), one()] },
  ]);
}

/** Conditions that a caller can have, too, when `write` leaves texts as they are. */
function plainLeaf(random: Random, write = literal): Where {
  return pick<() => Where>(random, [
    () => ({ t: textTest(random, letters, write) }),
    () => ({ n: numberTest(random) }),
    () => ({ f: random() < 0.5 }),
    () => ({ l: textTest(random, letters, write) }),
    () => ({ l: { some: { [pick(random, ["eq", "ne"])]: write(pick(random, letters)) } } }),
    () => ({ items: { some: { k: textTest(random, letters, write), q: numberTest(random) } } }),
    () => ({ "items[].k": textTest(random, letters, write) }),
    () => ({ "obj.a": textTest(random, letters, write) }),
    () => ({ who: textTest(random, subjects, write) }),
  ])();
}

function ruleLeaf(random: Random): Where {
  if (random() < 0.5) return plainLeaf(random);
  const operator = pick(random, ["eq", "ne"]);
  return pick<Where>(random, [
    { who: "$me" },
    { who: { [operator]: "$me" } },
    { who: { in: ["$me", pick(random, subjects)] } },
    { team: { in: "$my.teams" } },
    { t: { in: "$me.roles" } },
    { l: { in: "$me.roles" } },
    { $owner: "$me" },
    { $owner: { [operator]: pick(random, ["$me", "ann"]) } },
    { $owner: { exists: random() < 0.5 } },
    { d: { [pick(random, ["lt", "gt"])]: "$now" } },
    { "ref.kind": textTest(random, letters) },
    { "ref.lead": { [operator]: "$me" } },
    { "ref.team": { in: "$my.teams" } },
    { "ref.size": numberTest(random) },
  ]);
}

function randomWhere(random: Random, leaf: (random: Random) => Where, depth = 2): Where {
  const inner = () => randomWhere(random, leaf, depth - 1);
  const chance = depth === 0 ? 0 : random();
  if (chance > 0.85) return { $not: inner() };
  if (chance > 0.7) return { $or: [inner(), inner()] };
  if (chance > 0.6) return { $and: [inner(), inner()] };
  return chance > 0.4 ? { ...leaf(random), ...leaf(random) } : leaf(random);
}

const audiences = [
  "everyone",
  "token",
  "token",
  "owner",
  { scope: "special:read" },
  { role: "editor" },
];

function randomRules(random: Random): Ruled {
  const read = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, index): Grant => {
    const fields = some(random, [
      ...names.filter((name) => name !== "obj"),
      "updatedAt",
      pick(random, ["obj", "obj.a"]),
    ]);
    return {
      name: `grant ${index}`,
      to: pick(random, audiences),
      ...(random() < 0.85 ? { where: randomWhere(random, ruleLeaf) } : {}),
      ...(random() < 0.5 ? { fields } : {}),
    };
  });
  const boundary = pick<Where>(random, [
    { team: { in: "$my.teams" } },
    { f: true },
    { who: "$me" },
    { $not: { t: "a" } },
  ]);
  return { access: { read }, ...(random() < 0.2 ? { boundary } : {}) };
}

interface World {
  readonly things: readonly Stored[];
  readonly projects: Readonly<Record<string, Fields>>;
  readonly callers: Readonly<Record<string, Caller>>;
}

interface Got {
  readonly status: number;
  readonly body: string;
}

class Server {
  readonly #app: TestApp;
  readonly #tokens: Record<string, string> = {};

  constructor(app: TestApp) {
    this.#app = app;
  }

  async send(who: string, method: string, path: string, body?: unknown): Promise<Got> {
    const token = who === "admin" ? this.#app.admin : this.#tokens[who];
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const content =
      sent === undefined
        ? {}
        : { "content-type": type, "content-length": String(Buffer.byteLength(sent)) };
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...content,
      },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const response = await this.#app.direct(request, "127.0.0.1");
    return { status: response.status, body: await response.text() };
  }

  async must(method: string, path: string, body?: unknown): Promise<Got> {
    const got = await this.send("admin", method, path, body);
    assert.ok(got.status < 300, `${method} ${path} ${JSON.stringify(body)}: ${got.body}`);
    return got;
  }

  async prepare(): Promise<void> {
    const ofProject = { kind: text, lead: text, team: text, size: integer };
    await this.must("PUT", "/-/collections/projects", {
      schema: { type: "object", properties: ofProject },
    });
    await this.must("PUT", "/-/collections/memberships", {
      schema: { type: "object", properties: { user: text, team: text } },
    });
    const teams = { collection: "memberships", where: { user: "$me" }, field: "team" };
    const roles = { editor: ["misc:read"], reader: ["things:read"] };
    await this.must("PUT", "/-/access", { roles, sets: { teams } });
    for (const [name, { subject, roles, own: scopes }] of Object.entries(people)) {
      if (subject === undefined) continue;
      const { body } = await this.must("POST", "/-/tokens", { name, subject, roles, scopes });
      this.#tokens[name] = JSON.parse(body).token;
    }
  }

  /** Stores other resources, projects and memberships. */
  async begin(random: Random, count: number): Promise<World> {
    const owned = { ...definition, access: { read: "owner" } };
    await this.send("admin", "DELETE", "/-/collections/things?confirm=things");
    await this.must("PUT", "/-/collections/things", owned);
    const kinds: Record<string, Fields> = {};
    for (const id of projects) {
      const all = {
        kind: pick(random, letters),
        lead: pick(random, subjects),
        team: pick(random, teams),
        size: Math.floor(random() * 3),
      };
      const kept = Object.entries(all).filter(() => random() < 0.8);
      kinds[id] = Object.fromEntries(kept);
      await this.must("PUT", `/projects/${id}`, kinds[id]);
    }
    const callers: Record<string, Caller> = {};
    for (const [name, person] of Object.entries(people)) {
      const mine = person.subject === undefined ? [] : some(random, teams, 0.4);
      for (const team of teams) {
        const path = `/memberships/${name}-${team}`;
        if (mine.includes(team)) await this.must("PUT", path, { user: person.subject, team });
        else await this.send("admin", "DELETE", path);
      }
      callers[name] = { ...person, sets: { teams: mine } };
    }
    const things: Stored[] = [];
    for (let index = 0; index < count; index++) {
      const id = `t${index}`;
      const owner = pick(random, ["ann", "bob", undefined]);
      const fields = randomFields(random);
      await this.must("PUT", `/things/${id}`, fields);
      await this.must("PATCH", `/things/${id}`, { _owner: owner ?? null });
      things.push({ id, owner, fields });
    }
    return { things, projects: kinds, callers };
  }
}

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
      assert.deepEqual(
        [explained.allowed, explained.status],
        [status === 200, status],
        `explain: ${about}`,
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
    return JSON.parse(body) as { readonly allowed: boolean; readonly status: number };
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
