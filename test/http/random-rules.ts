// Random rules, resources and callers, and a server that has them.

import assert from "node:assert/strict";
import type { Fields, Where } from "../random-where.ts";
import type { TestApp } from "./app.ts";
import type { Caller, Grant, Ruled, Stored } from "./rules-model.ts";

export type Random = () => number;
export const pick = <T>(random: Random, choices: readonly T[]): T =>
  choices[Math.floor(random() * choices.length)] as T;
export const some = <T>(random: Random, choices: readonly T[], share = 0.5): T[] =>
  choices.filter(() => random() < share);

const text = { type: "string" };
const integer = { type: "integer" };
export const properties = {
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
export const names = Object.keys(properties);
export const definition = {
  schema: { type: "object", properties },
  references: { ref: { collection: "projects" } },
};

export const letters = ["a", "b", "$me", "editor"];
export const subjects = ["ann", "bob", "fay"];
export const teams = ["red", "blue", "green"];
const projects = ["p0", "p1", "p2"];
const past = "2020-01-01T00:00:00.000Z";
const future = "2999-01-01T00:00:00.000Z";

export const people: Readonly<
  Record<string, Omit<Caller, "sets"> & { readonly own: readonly string[] }>
> = {
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
export function randomFields(random: Random): Fields {
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
export function plainLeaf(random: Random, write = literal): Where {
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

export function ruleLeaf(random: Random): Where {
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

export function randomWhere(random: Random, leaf: (random: Random) => Where, depth = 2): Where {
  const inner = () => randomWhere(random, leaf, depth - 1);
  const chance = depth === 0 ? 0 : random();
  if (chance > 0.85) return { $not: inner() };
  if (chance > 0.7) return { $or: [inner(), inner()] };
  if (chance > 0.6) return { $and: [inner(), inner()] };
  return chance > 0.4 ? { ...leaf(random), ...leaf(random) } : leaf(random);
}

export const audiences = [
  "everyone",
  "token",
  "token",
  "owner",
  { scope: "special:read" },
  { role: "editor" },
];

export function randomRules(random: Random): Ruled {
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

const writable = [...names.filter((name) => name !== "obj"), "obj.a", "obj"];

function randomSet(random: Random, fixed: readonly string[]): Fields {
  const all: Fields = {
    t: literal(pick(random, letters)),
    n: Math.floor(random() * 3),
    who: "$me",
    "obj.a": literal(pick(random, letters)),
  };
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => !fixed.includes(name) && random() < 0.3),
  );
}

/** With grants to write, and more kinds of boundaries: they fix what they name. */
export function randomWriteRules(random: Random, rules: Ruled): Ruled {
  const others = pick<Where>(random, [
    { "items[].k": textTest(random, letters) },
    { items: { some: { q: numberTest(random) } } },
    { "obj.a": textTest(random, letters) },
    { "ref.kind": textTest(random, letters) },
    { $or: [{ t: "a" }, { n: { gte: 1 } }] },
  ]);
  const boundary = random() < 0.3 ? others : rules.boundary;
  const fixed = /^\{"obj/.test(JSON.stringify(boundary) ?? "") ? ["obj.a"] : ["t", "n", "who"];
  const grants = (verb: "create" | "update" | "delete"): readonly Grant[] =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, (_, index) => ({
      name: `${verb} ${index}`,
      to: pick(
        random,
        audiences.filter((to) => verb !== "create" || to !== "owner"),
      ),
      ...(verb !== "create" && random() < 0.5 ? { where: randomWhere(random, ruleLeaf, 1) } : {}),
      ...(verb !== "delete" && random() < 0.4 ? { check: randomWhere(random, ruleLeaf, 1) } : {}),
      ...(verb !== "delete" && random() < 0.6 ? { fields: some(random, writable) } : {}),
      ...(verb !== "delete" && random() < 0.4
        ? { set: randomSet(random, verb === "update" && boundary ? fixed : []) }
        : {}),
    }));
  const { read } = rules.access;
  const access = {
    ...(read && random() < 0.8 ? { read } : { read: [] }),
    ...{ create: grants("create"), update: grants("update"), delete: grants("delete") },
  };
  return { access, ...(boundary && { boundary }) };
}

export interface World {
  readonly things: readonly Stored[];
  readonly projects: Readonly<Record<string, Fields>>;
  readonly callers: Readonly<Record<string, Caller>>;
}

export interface Got {
  readonly status: number;
  readonly body: string;
}

export class Server {
  readonly #app: TestApp;
  readonly #tokens: Record<string, string> = {};

  constructor(app: TestApp) {
    this.#app = app;
  }

  async send(
    who: string,
    method: string,
    path: string,
    body?: unknown,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Got> {
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
        ...more,
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
      const thing = { id, owner, fields: randomFields(random) };
      await this.store(thing);
      things.push(thing);
    }
    return { things, projects: kinds, callers };
  }

  async store({ id, owner, fields }: Stored): Promise<void> {
    await this.must("PUT", `/things/${id}`, fields);
    await this.must("PATCH", `/things/${id}`, { _owner: owner ?? null });
  }
}
