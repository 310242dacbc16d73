// A grid of callers, verbs, ways to ask and shapes of rules: every cell is what a plain reading of the rules
// says, in the response and in what is stored.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { Fields } from "../random-where.ts";
import { isLong } from "../seeds.ts";
import { isShort, storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { file, form, text as formText } from "./multipart.ts";
import { type Caller, type Decision, type Ruled, RulesModel, type Stored } from "./rules-model.ts";

const text = { type: "string" };
const properties = {
  ...{ title: text, author: text, team: text, tenant: text, status: text, project: text },
  views: { type: "integer" },
  photo: {},
};
const definition = {
  schema: { type: "object", properties },
  references: { project: { collection: "projects" } },
};

const mine = { name: "mine", to: "token", where: { author: "$me" } };

/** Twelve shapes of rules. Verbs that are not named are open to tokens. */
const shapes: Readonly<Record<string, Ruled>> = {
  "a boundary around shorthands": { access: {}, boundary: { tenant: { in: "$my.tenants" } } },
  "published or mine": {
    access: {
      read: [
        {
          ...{ name: "published", to: "everyone", where: { status: "published" } },
          fields: ["title", "author", "status"],
        },
        mine,
      ],
      create: [
        {
          ...{
            name: "author",
            to: "token",
            fields: ["title", "team", "tenant", "photo", "project"],
          },
          set: { author: "$me", status: "draft" },
        },
      ],
      update: [
        {
          ...{ name: "own draft", to: "token", where: { author: "$me", status: "draft" } },
          ...{ fields: ["title", "status"], check: { status: { in: ["draft", "submitted"] } } },
        },
      ],
      delete: [mine],
    },
  },
  "teams from a set": {
    access: {
      read: [{ name: "team", to: "token", where: { team: { in: "$my.teams" } } }],
      create: [{ name: "team", to: "token", check: { team: { in: "$my.teams" } } }],
      update: [
        {
          ...{ name: "team", to: "token", where: { team: { in: "$my.teams" } } },
          check: { team: { in: "$my.teams" } },
        },
      ],
      delete: [{ name: "team", to: "token", where: { team: { in: "$my.teams" } } }],
    },
  },
  "a role": {
    access: {
      read: [{ name: "editors", to: { role: "editor" } }],
      create: [{ name: "editors", to: { role: "editor" }, set: { status: "draft" } }],
      update: [{ name: "editors", to: { role: "editor" }, fields: ["title", "views"] }],
      delete: [{ name: "editors", to: { role: "editor" }, where: { status: "draft" } }],
    },
  },
  "a scope": {
    access: {
      read: [{ name: "all", to: "everyone", fields: ["title", "status"] }],
      create: [{ name: "desk", to: { scope: "desk:create" } }],
      update: [{ name: "desk", to: { scope: "desk:update" } }],
      delete: [{ name: "desk", to: { scope: "desk:delete" }, where: { title: { exists: true } } }],
    },
  },
  "fields that may be read, and others that may change": {
    access: {
      read: [
        { name: "all", to: "token", fields: ["title", "updatedAt"] },
        { name: "full", to: { role: "editor" } },
      ],
      update: [{ name: "all", to: "token", fields: ["title", "team"] }],
    },
  },
  owners: {
    access: {
      read: [{ name: "own", to: "owner" }],
      update: [{ name: "own", to: "owner", fields: ["title", "status"], set: { views: 7 } }],
      delete: [{ name: "own", to: "owner", where: { status: { ne: "published" } } }],
    },
  },
  "the owner as a field": {
    access: {
      read: [
        { name: "any", to: "token", where: { $or: [{ $owner: "$me" }, { views: { gte: 2 } }] } },
      ],
      update: [{ name: "not others", to: "token", where: { $owner: { in: ["$me"] } } }],
      delete: [{ name: "none", to: "token", where: { $not: { $owner: { exists: true } } } }],
    },
  },
  "one step across a reference": {
    access: {
      read: [
        { name: "lead", to: "token", where: { "project.lead": "$me" } },
        { name: "open", to: "everyone", where: { "project.kind": "open" }, fields: ["title"] },
      ],
      create: [{ name: "lead", to: "token", check: { "project.lead": "$me" } }],
      update: [{ name: "lead", to: "token", where: { "project.lead": "$me" }, fields: ["title"] }],
      delete: [{ name: "lead", to: "token", where: { "project.lead": { ne: "$me" } } }],
    },
  },
  "a state machine": {
    access: {
      read: "public",
      update: [
        {
          ...{ name: "submit", to: "token", where: { author: "$me", status: "draft" } },
          ...{ fields: ["status"], check: { status: "submitted" } },
        },
        {
          ...{
            name: "publish",
            to: { role: "editor" },
            where: { status: { in: ["draft", "submitted"] } },
          },
          ...{ fields: ["title"], set: { status: "published" } },
        },
        { name: "rename", to: "token", where: { author: "$me" }, fields: ["title"] },
      ],
      delete: [{ name: "editors", to: { role: "editor" }, where: { status: "published" } }],
    },
  },
  "a letter box": {
    access: {
      read: [{ name: "editors", to: { role: "editor" } }],
      create: [
        { name: "all", to: "everyone", set: { status: "new" }, check: { title: { exists: true } } },
      ],
      update: [{ name: "wait", to: "everyone", where: { status: "draft" }, fields: ["title"] }],
      delete: [{ name: "editors", to: { role: "editor" } }],
    },
  },
  "negation and what is missing, within a boundary": {
    access: {
      read: [{ name: "not hidden", to: "everyone", where: { $not: { status: "published" } } }],
      create: [{ name: "tokens", to: "token", check: { $not: { author: { ne: "$me" } } } }],
      update: [
        {
          name: "no author",
          to: "token",
          where: { $or: [{ author: { exists: false } }, mine.where] },
        },
      ],
      delete: [{ name: "no title", to: "token", where: { $not: { title: { startsWith: "a" } } } }],
    },
    boundary: { tenant: { ne: "t3" } },
  },
};

const stored: readonly Stored[] = [
  {
    ...{ id: "r1", owner: "ann" },
    fields: {
      ...{
        title: "a draft",
        author: "ann",
        team: "north",
        tenant: "t1",
        status: "draft",
        views: 1,
      },
      project: "p1",
    },
  },
  {
    ...{ id: "r2", owner: "bob" },
    fields: {
      ...{ title: "published", author: "bob", team: "south", tenant: "t2", status: "published" },
      ...{ views: 2, project: "p2" },
    },
  },
  { id: "r3", fields: { tenant: "t3", status: "draft", views: 3 } },
];

const projects: Readonly<Record<string, Fields>> = {
  p1: { lead: "ann", kind: "closed" },
  p2: { lead: "sam", kind: "open" },
};

/** The admin's token stands for itself. */
const firstToken = "00000000-0000-7000-8000-000000000000";

const all = ["posts:*", "projects:*", "action:*"];
const people: Readonly<Record<string, Caller>> = {
  anonymous: { roles: [], scopes: [], sets: {} },
  ann: { subject: "ann", roles: [], scopes: all, sets: { tenants: ["t1"], teams: ["north"] } },
  bob: { subject: "bob", roles: [], scopes: all, sets: { tenants: ["t2"], teams: ["south"] } },
  rolf: {
    ...{ subject: "rolf", roles: ["editor"], sets: { tenants: ["t1", "t2"] } },
    scopes: ["posts:read", "action:*"],
  },
  sam: { subject: "sam", roles: [], scopes: ["desk:*", "action:*"], sets: {} },
  admin: { isAdmin: true, subject: firstToken, roles: [], scopes: ["*:*"], sets: {} },
  revoked: { subject: "ann", roles: [], scopes: all, sets: {} },
};
const callers = Object.keys(people);

interface Got {
  readonly status: number;
  readonly body: string;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const json = "application/json";
const merge = "application/merge-patch+json";
const ndjson = "application/x-ndjson";
const actionOf = (verb: string, ...args: unknown[]): Sent => ({
  ...{ method: "POST", path: "/-/actions/verbs", body: { verb, args } },
});
const batchOf = (method: string, path: string, body?: unknown): Sent => ({
  ...{ method: "POST", path: "/-/batch" },
  body: { operations: [{ method, path, ...(body === undefined ? {} : { body }) }] },
});

const asCsv = (fields: Fields) =>
  `${Object.keys(fields).join()}\r\n${Object.values(fields).join()}\r\n`;

/** Ways to create, each with what it sends. */
const creations: Readonly<Record<string, (id: string, fields: Fields) => Sent>> = {
  POST: (_, body) => ({ method: "POST", path: "/posts", body }),
  PUT: (id, body) => ({ method: "PUT", path: `/posts/${id}`, body }),
  batch: (_, body) => batchOf("POST", "/posts", body),
  NDJSON: (_, fields) => ({
    ...{ method: "POST", path: "/posts", body: `${JSON.stringify(fields)}\n`, type: ndjson },
  }),
  CSV: (_, fields) => ({ method: "POST", path: "/posts", body: asCsv(fields), type: "text/csv" }),
  form: (_, fields) => ({
    ...{ method: "POST", path: "/posts", type: "application/x-www-form-urlencoded" },
    body: new URLSearchParams(fields as Record<string, string>).toString(),
  }),
  upload: (_, { photo, ...fields }) => {
    const pieces = Object.entries(fields).map(([name, value]) => formText(name, `${value}`));
    const { headers, body } = form([...pieces, file("photo", "a.png", `${photo}`)]);
    return { method: "POST", path: "/posts", headers, body };
  },
  action: (_, fields) => actionOf("create", "posts", fields),
};

/** Ways to change. `whole` is what a PUT sends: what the caller sees, with the change. */
const changes: Readonly<Record<string, (id: string, patch: Fields, whole: Fields) => Sent>> = {
  PATCH: (id, body) => ({ method: "PATCH", path: `/posts/${id}`, body, type: merge }),
  PUT: (id, _, body) => ({ method: "PUT", path: `/posts/${id}`, body }),
  "JSON Patch": (id, patch) => ({
    ...{ method: "PATCH", path: `/posts/${id}`, type: "application/json-patch+json" },
    body: Object.entries(patch).map(([name, value]) => ({ op: "add", path: `/${name}`, value })),
  }),
  operations: (id, { views }) => ({
    ...{ method: "PATCH", path: `/posts/${id}`, body: { max: { views } } },
    type: "application/vnd.restante.operations+json",
  }),
  batch: (id, patch) => batchOf("PATCH", `/posts/${id}`, patch),
  "NDJSON by id": (id, _, whole) => ({
    ...{ method: "POST", path: "/posts?key=id", type: ndjson },
    body: `${JSON.stringify({ id, ...whole })}\n`,
  }),
  "CSV by id": (id, _, whole) => ({
    ...{ method: "POST", path: "/posts?key=id", body: asCsv({ id, ...whole }), type: "text/csv" },
  }),
  action: (id, patch) => actionOf("patch", "posts", id, patch),
};

const removals: Readonly<Record<string, (id: string) => Sent>> = {
  DELETE: (id) => ({ method: "DELETE", path: `/posts/${id}` }),
  batch: (id) => batchOf("DELETE", `/posts/${id}`),
  action: (id) => actionOf("remove", "posts", id),
};

/** A way to read, with the resources in its response. */
interface Reading {
  readonly sent: Sent;
  readonly found: (body: string) => readonly Fields[];
  readonly hasOnlyIds?: boolean;
}

const oneBy = (id: string): Reading => ({
  sent: { method: "GET", path: `/posts/${id}` },
  found: (body) => [JSON.parse(body)],
});

/** Ways to read all. */
const reads: Readonly<Record<string, Reading>> = {
  list: { sent: { method: "GET", path: "/posts" }, found: (body) => JSON.parse(body).data },
  NDJSON: {
    sent: { method: "GET", path: "/posts", headers: { accept: ndjson } },
    found: (body) =>
      body
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line)),
  },
  CSV: {
    sent: { method: "GET", path: "/posts?fields=title", headers: { accept: "text/csv" } },
    found: (body) => {
      const [, ...rows] = body.trim().split("\r\n");
      return rows.map((row) => ({ id: row.split(",")[0] }));
    },
    hasOnlyIds: true,
  },
  QUERY: {
    sent: { method: "QUERY", path: "/posts", body: { sort: ["createdAt"] } },
    found: (body) => JSON.parse(body).data,
  },
  feed: {
    sent: { method: "GET", path: "/posts?since=0&limit=1000" },
    found: (body) =>
      JSON.parse(body).changes.flatMap(({ resource }: { resource?: Fields }) => resource ?? []),
  },
  action: { sent: actionOf("list", "posts"), found: (body) => JSON.parse(body).data },
};

/** A status of a batch or of a line counts as that of the response. */
function outcomeOf({ status, body }: Got, sent: Sent): number {
  if (status !== 200) return status;
  if (sent.path === "/-/batch") return JSON.parse(body).results[0].status;
  const isLines = sent.type === ndjson || sent.type === "text/csv";
  if (isLines) return JSON.parse(body.trimEnd()).status;
  // An action succeeds with 200, whatever it does.
  return sent.path.startsWith("/-/actions") && sent.method === "POST" ? 299 : status;
}

const isSuccess = (status: number) => status >= 200 && status < 300;
const fieldsOf = ({ id: _, createdAt: __, updatedAt, photo: ___, ...fields }: Fields): Fields =>
  updatedAt === undefined ? fields : { ...fields, updatedAt: true };
const sortedById = (all: readonly Stored[]) =>
  all.toSorted((one, other) => (one.id < other.id ? -1 : 1));

class Grid {
  readonly #app: TestApp;
  readonly #tokens: Record<string, string> = {};
  #model: RulesModel | undefined;
  /** Every cell that is wrong. */
  readonly wrong: string[] = [];
  cells = 0;

  constructor(app: TestApp) {
    this.#app = app;
    this.#tokens.admin = app.admin;
  }

  get model(): RulesModel {
    assert.ok(this.#model);
    return this.#model;
  }

  async send(who: string, { method, path, body, type = json, headers }: Sent): Promise<Got> {
    const bytes =
      body === undefined || typeof body === "string" || body instanceof Uint8Array
        ? body
        : JSON.stringify(body);
    const token = this.#tokens[who];
    const length = String(Buffer.byteLength(bytes ?? ""));
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(bytes === undefined ? {} : { "content-type": type, "content-length": length }),
        ...headers,
      },
      ...(bytes === undefined ? {} : { body: bytes as RequestInit["body"] }),
    });
    // Wrong tokens are limited by address.
    const address = `10.0.${this.cells >> 8}.${this.cells & 255}`;
    const response = await this.#app.direct(request, address);
    return { status: response.status, body: await response.text() };
  }

  async must(method: string, path: string, body?: unknown, type = json): Promise<Got> {
    const got = await this.send("admin", { method, path, body, type });
    assert.ok(got.status < 300, `${method} ${path} ${JSON.stringify(body)}: ${got.body}`);
    return got;
  }

  async prepare(): Promise<void> {
    const ofProject = { lead: text, kind: text };
    await this.must("PUT", "/-/collections/projects", {
      ...{ schema: { type: "object", properties: ofProject }, access: { read: "public" } },
    });
    for (const [id, fields] of Object.entries(projects))
      await this.must("PUT", `/projects/${id}`, fields);
    const members = { user: text, team: text, tenant: text };
    await this.must("PUT", "/-/collections/memberships", {
      schema: { type: "object", properties: members },
    });
    const set = { collection: "memberships", where: { user: "$me" } };
    await this.must("PUT", "/-/access", {
      roles: { editor: ["posts:read"] },
      sets: { teams: { ...set, field: "team" }, tenants: { ...set, field: "tenant" } },
    });
    for (const [name, { subject, roles, scopes, sets }] of Object.entries(people)) {
      for (const [set, values] of Object.entries(sets))
        for (const value of values)
          await this.must("POST", "/memberships", { user: subject, [set.slice(0, -1)]: value });
      if (subject === undefined || name === "admin") continue;
      // A role gives its scopes.
      const own = scopes.filter((scope) => roles.length === 0 || scope !== "posts:read");
      const asked = { name, subject, roles, scopes: own };
      const { id, token } = JSON.parse((await this.must("POST", "/-/tokens", asked)).body);
      this.#tokens[name] = token;
      if (name === "revoked") await this.must("DELETE", `/-/tokens/${id}`);
    }
  }

  async begin(rules: Ruled): Promise<void> {
    await this.send("admin", { method: "DELETE", path: "/-/collections/posts?confirm=posts" });
    await this.must("PUT", "/-/collections/posts", { ...definition, ...rules });
    for (const each of stored) await this.#store(each);
    this.#model = new RulesModel("posts", rules, ["project"], ({ fields }) => ({
      project: projects[`${fields.project}`],
    }));
  }

  async #store({ id, owner, fields }: Stored): Promise<void> {
    await this.must("PUT", `/posts/${id}`, fields);
    await this.must("PATCH", `/posts/${id}`, { _owner: owner ?? null }, merge);
  }

  async #state(): Promise<readonly Stored[]> {
    const path = "/posts?limit=100&fields=*,_owner";
    const data: readonly Fields[] = JSON.parse((await this.must("GET", path)).body).data;
    return sortedById(
      data.map(({ _owner, ...each }) => {
        const { updatedAt: _, ...fields } = fieldsOf(each);
        return { id: `${each.id}`, owner: (_owner ?? undefined) as string | undefined, fields };
      }),
    );
  }

  /** Sends a write, and compares the response and what is stored with what was decided. */
  async write(
    words: string,
    who: string,
    sent: Sent,
    decided: Decision,
    expected: readonly Stored[],
  ) {
    const got = await this.send(who, sent);
    const status = outcomeOf(got, sent);
    const isRight = isSuccess(decided.status) ? isSuccess(status) : status === decided.status;
    const state = await this.#state();
    const known = new Set(stored.map(({ id }) => id));
    // The server chooses the id of a new resource.
    const made = state.filter(({ id }) => !known.has(id));
    const named = expected.map((each) =>
      known.has(each.id) ? each : { ...each, id: made[0]?.id ?? each.id },
    );
    const isStored = isDeepEqual(state, sortedById(named));
    this.cells++;
    if (!isRight || !isStored)
      this.wrong.push(
        `${words}: ${got.status} (${status}) instead of ${decided.status}; ${isStored ? "" : `stored ${JSON.stringify(state)} instead of ${JSON.stringify(named)}`} ${JSON.stringify(sent)} ${got.body}`,
      );
    for (const { id } of made) await this.must("DELETE", `/posts/${id}`);
    for (const each of stored)
      if (
        !isDeepEqual(
          state.find(({ id }) => id === each.id),
          each,
        )
      )
        await this.#store(each);
  }

  /** Reads all, and compares what is found. */
  async read(
    words: string,
    who: string,
    { sent, found, hasOnlyIds = false }: Reading,
    expected: Got["status"] | readonly Fields[],
  ) {
    const got = await this.send(who, sent);
    this.cells++;
    const isStatus = typeof expected === "number";
    const isRight = isStatus ? got.status === expected : got.status === 200;
    const answer = isRight && !isStatus ? found(got.body) : [];
    const byId = (all: readonly Fields[]) =>
      Object.fromEntries(
        all.map((each) => [`${each.id}`, hasOnlyIds ? {} : fieldsOf(each)] as const),
      );
    if (isRight && (isStatus || isDeepEqual(byId(answer), byId(expected)))) return;
    this.wrong.push(
      `${words}: ${got.status} ${got.body} instead of ${JSON.stringify(isStatus ? expected : byId(expected))}`,
    );
  }
}

/** JSON with sorted names, without what is undefined. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted())
      : each,
  );

const isDeepEqual = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other);

const payloads: readonly Fields[] = [
  { title: "new", tenant: "t1", team: "north", project: "p1" },
  { title: "new", author: "bob", tenant: "t2", team: "south" },
  { title: "new", tenant: "t2", team: "south", status: "draft" },
  { team: "south", tenant: "t3" },
];

const patches: readonly Fields[] = [
  { title: "changed" },
  { status: "submitted" },
  { title: "changed", team: "north" },
  { tenant: "t2" },
  { author: "ann" },
];

/** All combinations in a long run; otherwise each way meets some of them, by its place. */
const chosen = <T>(choices: readonly T[], place: number): readonly T[] =>
  isLong ? choices : [choices[place % choices.length] as T];

/** The callers of a shape. A revoked token is 401 whatever the rules say, so that a short run has it with one. */
const callersOf = (place: number): readonly string[] =>
  callers.filter((name) => !isShort || name !== "revoked" || place === 0);

const countChosen = (choices: readonly unknown[]): number => (isLong ? choices.length : 1);

/** How many cells each caller has with each shape. */
const cellsOfCaller =
  Object.keys(reads).length +
  stored.length +
  Object.keys(creations).length * countChosen(payloads) +
  Object.keys(changes).length * countChosen(stored) * countChosen(patches) +
  Object.keys(removals).length * countChosen(stored);

const actions = fileURLToPath(new URL("actions", import.meta.url));

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`the grid of rules, on ${store}`, () => {
    let app: TestApp;
    let grid: Grid;
    before(async () => {
      app = await startApp({ actions, ...(store === "postgres" && { store }) });
      grid = new Grid(app);
      await grid.prepare();
    });
    after(() => app.stop());

    for (const [place, [shape, rules]] of Object.entries(shapes).entries())
      it(`is right with ${shape}`, async () => {
        await grid.begin(rules);
        for (const name of callersOf(place)) {
          const before = grid.cells;
          await new Row(grid, rules, shape, name).run();
          assert.equal(grid.cells - before, cellsOfCaller, name);
        }
        const wrong = grid.wrong.splice(0);
        assert.equal(wrong.length, 0, `${wrong.length} cells:\n${wrong.join("\n")}`);
      });
  });

/** All cells of one caller and one shape. */
class Row {
  readonly #grid: Grid;
  readonly #model: RulesModel;
  readonly #words: string;
  readonly #name: string;
  readonly #caller: Caller;
  /** Whether new resources have an owner. */
  readonly #hasOwners: boolean;
  /** The number of the cell, by which a short run chooses. */
  #place: number;

  constructor(grid: Grid, rules: Ruled, shape: string, name: string) {
    this.#grid = grid;
    this.#model = grid.model;
    this.#words = `${shape}, ${name}`;
    this.#name = name;
    this.#caller = people[name] as Caller;
    this.#hasOwners = /\$owner|"owner"/.test(JSON.stringify(rules));
    this.#place = shape.length + name.length;
  }

  async run(): Promise<void> {
    for (const way of Object.keys(reads)) await this.#read(way);
    for (const each of stored) await this.#readOne(each);
    for (const way of Object.keys(creations))
      for (const fields of chosen(payloads, this.#place++)) await this.#create(way, fields);
    for (const way of Object.keys(changes))
      for (const each of chosen(stored, this.#place++))
        for (const patch of chosen(patches, this.#place)) await this.#change(way, each, patch);
    for (const way of Object.keys(removals))
      for (const each of chosen(stored, this.#place++)) await this.#remove(way, each);
  }

  /** Batches and actions are for tokens, and a token that is revoked is none. */
  #isUnknown = (way: string) =>
    this.#name === "revoked" || (this.#name === "anonymous" && ["action", "batch"].includes(way));

  async #read(way: string): Promise<void> {
    const isReader = this.#model.grants(this.#caller, "read").length > 0;
    const refused = this.#caller.subject === undefined ? 401 : 403;
    const seen = stored
      .filter((each) => this.#model.isVisible(this.#caller, each))
      .map((each) => ({ id: each.id, ...this.#model.shown(this.#caller, each) }));
    const expected = this.#isUnknown(way) ? 401 : isReader ? seen : refused;
    const words = `${this.#words}, read by ${way}`;
    await this.#grid.read(words, this.#name, reads[way] as Reading, expected);
  }

  async #readOne(each: Stored): Promise<void> {
    const isReader = this.#model.grants(this.#caller, "read").length > 0;
    const refused = this.#caller.subject === undefined ? 401 : 403;
    const missing = isReader ? 404 : refused;
    const isSeen = this.#model.isVisible(this.#caller, each);
    const shown = () => [{ id: each.id, ...this.#model.shown(this.#caller, each) }];
    const expected = this.#isUnknown("one") ? 401 : isSeen ? shown() : missing;
    await this.#grid.read(`${this.#words}, GET ${each.id}`, this.#name, oneBy(each.id), expected);
  }

  async #create(way: string, given: Fields): Promise<void> {
    const fields = way === "upload" ? { ...given, photo: "abc" } : given;
    const decided = this.#decide(way, () => this.#model.create(this.#caller, "new", fields));
    const { after } = decided;
    const owner = this.#hasOwners ? this.#caller.subject : undefined;
    const made = after && { ...after, owner, fields: withoutPhoto(after.fields) };
    await this.#write("create", way, creations[way]?.("new", fields), decided, [
      ...stored,
      ...(made ? [made] : []),
    ]);
  }

  async #change(way: string, one: Stored, given: Fields): Promise<void> {
    const patch = way === "operations" ? { views: 9 } : given;
    const isSeen = this.#model.isVisible(this.#caller, one);
    const { updatedAt: _, ...seen } = isSeen ? this.#model.shown(this.#caller, one) : {};
    const whole = { ...seen, ...patch };
    const decided = this.#decide(way, () => {
      if (way === "operations") return this.#model.operate(this.#caller, one, patch);
      const isWhole = way === "PUT" || way.endsWith("by id");
      if (isWhole) return this.#model.put(this.#caller, one, patch, whole);
      return this.#model.update(this.#caller, one, patch);
    });
    const { after } = decided;
    const expected = after ? stored.map((each) => (each === one ? after : each)) : stored;
    await this.#write("update", way, changes[way]?.(one.id, patch, whole), decided, expected);
  }

  async #remove(way: string, one: Stored): Promise<void> {
    const decided = this.#decide(way, () => this.#model.remove(this.#caller, one));
    const expected = decided.status === 204 ? stored.filter((each) => each !== one) : stored;
    await this.#write("delete", way, removals[way]?.(one.id), decided, expected);
  }

  #decide(way: string, decided: () => Decision): Decision {
    return this.#isUnknown(way) ? { status: 401 } : decided();
  }

  async #write(
    verb: string,
    way: string,
    sent: Sent | undefined,
    decided: Decision,
    expected: readonly Stored[],
  ): Promise<void> {
    assert.ok(sent);
    const words = `${this.#words}, ${verb} by ${way}`;
    await this.#grid.write(words, this.#name, sent, decided, expected);
  }
}

function withoutPhoto({ photo: _, ...fields }: Fields): Fields {
  return fields;
}
