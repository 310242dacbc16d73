// States of posts and projects under rules, changes that a caller cannot see, and servers that have them.

import assert from "node:assert/strict";
import type { Fields } from "../random-where.ts";
import { isShort } from "../short-run.ts";
import type { TestApp } from "./app.ts";
import { type Caller, type Ruled, RulesModel, type Stored } from "./rules-model.ts";

export type Random = () => number;
export const pick = <T>(random: Random, choices: readonly T[]): T =>
  choices[Math.floor(random() * choices.length)] as T;

const text = { type: "string" };
const integer = { type: "integer" };

const projectRules: Ruled = {
  access: {
    read: [
      { name: "secret name of open", to: "everyone", where: { kind: "open" }, fields: ["name"] },
      { name: "secret name of lead", to: "token", where: { lead: "$me" } },
    ],
  },
};

const writes = {
  create: [{ name: "secret name of create", to: "token", check: { author: "$me" } }],
  update: [{ name: "secret name of update", to: "token", where: { author: "$me", salary: 0 } }],
  delete: [{ name: "secret name of delete", to: "token", where: { author: "$me", salary: 0 } }],
} as const;

const published = {
  ...{ name: "secret name of published", to: "everyone", where: { status: "published" } },
  fields: ["title", "body", "author", "status", "project"],
};
const mine = { name: "secret name of mine", to: "token", where: { author: "$me" } };

/** The rules of posts. */
export const cases: Readonly<Record<string, Ruled>> = {
  "published, mine or my team's": {
    access: {
      read: [
        published,
        mine,
        {
          ...{ name: "secret name of team", to: "token", where: { team: { in: "$my.teams" } } },
          fields: ["title", "body", "team", "salary", "updatedAt", "project", "photo"],
        },
      ],
      ...writes,
    },
  },
  "my team's, with a boundary": {
    access: {
      read: [{ name: "secret name of all", to: "token", fields: ["title", "body", "team"] }, mine],
      ...writes,
    },
    boundary: { team: { in: "$my.teams" } },
  },
  "open to everyone within a boundary": {
    access: { read: "public", ...writes },
    boundary: { status: { ne: "draft" } },
  },
  "those of projects that I lead": {
    access: {
      read: [
        { name: "secret name of lead", to: "token", where: { "project.lead": "$me" } },
        { ...published, fields: ["title"] },
      ],
      ...writes,
    },
  },
  "mine by owner": {
    access: {
      read: [{ name: "secret name of owner", to: "owner" }, published],
      ...writes,
    },
  },
};

/** Every second one in a short run, and the others on the other engine. */
export const casesOn = (store: string | undefined) =>
  Object.entries(cases).filter(
    (_, index) => !isShort || index % 2 === (store === "postgres" ? 1 : 0),
  );

const definition = {
  schema: {
    type: "object",
    properties: {
      ...{ title: text, body: text, author: text, team: text, status: text, project: text },
      salary: integer,
      tags: { type: "array", items: text },
      photo: {},
    },
  },
  indexed: ["title", "salary"],
  searchable: ["title"],
  references: { project: { collection: "projects" } },
};

const vocabulary = ["red", "green", "blue", "redder", "sea", "ship"];
export const subjects = ["ann", "bob"];
export const teams = ["north", "south"];
const statuses = ["draft", "published"];

/** What is stored. Posts come in the order in which they are created. */
export interface State {
  readonly posts: readonly Stored[];
  readonly projects: readonly Stored[];
  /** The teams of those who are not the caller. */
  readonly others: readonly string[];
}

const words = (random: Random, most: number) =>
  Array.from({ length: Math.floor(random() * most) }, () => pick(random, vocabulary)).join(" ");

const someOf = (random: Random, fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(() => random() < 0.85));

const randomPost = (random: Random, id: string, { projects }: Pick<State, "projects">): Stored => ({
  id,
  owner: pick(random, [...subjects, undefined]),
  fields: someOf(random, {
    title: words(random, 8),
    body: words(random, 4),
    author: pick(random, subjects),
    team: pick(random, teams),
    status: pick(random, statuses),
    project: pick(random, projects).id,
    salary: Math.floor(random() * 3),
    tags: [pick(random, vocabulary)],
  }),
});

const randomProject = (random: Random, id: string): Stored => ({
  id,
  fields: someOf(random, {
    name: words(random, 3),
    kind: pick(random, ["open", "closed"]),
    lead: pick(random, subjects),
    secret: pick(random, vocabulary),
  }),
});

export function randomState(random: Random): State {
  const projects = [0, 1, 2].map((index) => randomProject(random, `p${index}`));
  const posts = Array.from({ length: 10 }, (_, index) =>
    randomPost(random, `t${index}`, { projects }),
  );
  return { posts, projects, others: teams.filter(() => random() < 0.5) };
}

/** What one caller sees of a state. */
export class Sight {
  readonly #caller: Caller;
  readonly #rules: Ruled;

  constructor(caller: Caller, rules: Ruled) {
    this.#caller = caller;
    this.#rules = rules;
  }

  models({ projects }: State) {
    const targets = ({ fields }: Stored) => ({
      project: projects.find(({ id }) => id === fields.project)?.fields,
    });
    return {
      posts: new RulesModel("posts", this.#rules, ["project"], targets),
      projects: new RulesModel("projects", projectRules, [], () => ({})),
    };
  }

  seenPosts(state: State): readonly Stored[] {
    const { posts } = this.models(state);
    return state.posts.filter((post) => posts.isVisible(this.#caller, post));
  }

  of(state: State): string {
    const { posts, projects } = this.models(state);
    const shown = (model: RulesModel, all: readonly Stored[]) =>
      all
        .filter((each) => model.isVisible(this.#caller, each))
        .map((each) => [
          ...[each.id, model.shown(this.#caller, each)],
          // What a caller may do tells whether the conditions of its grants hold.
          ...(["update", "delete"] as const).map(
            (verb) => model.holding(this.#caller, verb, each).length,
          ),
        ]);
    return JSON.stringify([shown(posts, state.posts), shown(projects, state.projects)]);
  }

  /** Changes a state in ways that the caller cannot see. */
  hiddenChange(random: Random, state: State, count: number, mayChange: HiddenChanges): State {
    const before = this.of(state);
    const seen = this.seenPosts(state).map(({ id }) => id);
    let [changed, made] = [state, 0];
    for (let tries = 0; tries < 30 * count && made < count; tries++) {
      const next = this.#change(random, changed, mayChange, seen);
      const isSame = JSON.stringify(next) === JSON.stringify(changed);
      if (next === undefined || isSame || this.of(next) !== before) continue;
      changed = next;
      made++;
    }
    return changed;
  }

  /** A write changes the time of the last change, if it is shown. */
  #mayChange({ seen, dated }: HiddenChanges, state: State, post: Stored): boolean {
    return seen && (dated || !("updatedAt" in this.models(state).posts.shown(this.#caller, post)));
  }

  #change(
    random: Random,
    state: State,
    mayChange: HiddenChanges,
    seen: readonly string[],
  ): State | undefined {
    const { posts, projects } = state;
    const kind = pick(random, ["post", "post", "post", "new", "new", "removed", "project"]);
    if (kind === "project") {
      if (!mayChange.projects) return undefined;
      const chosen = pick(random, projects);
      const next = randomProject(random, chosen.id);
      const mixed = { ...next, fields: mix(random, chosen.fields, next.fields) };
      return { ...state, projects: projects.map((each) => (each === chosen ? mixed : each)) };
    }
    if (kind === "new") {
      const at = Math.floor(random() * (posts.length + 1));
      const id = `h${Math.floor(random() * 1e6)}`;
      return { ...state, posts: posts.toSpliced(at, 0, randomPost(random, id, state)) };
    }
    if (posts.length === 0) return undefined;
    const chosen = pick(random, posts);
    if (seen.includes(chosen.id) && !this.#mayChange(mayChange, state, chosen)) return undefined;
    if (kind === "removed") return { ...state, posts: posts.filter((each) => each !== chosen) };
    const next = randomPost(random, chosen.id, state);
    const owner = random() < 0.5 ? chosen.owner : next.owner;
    const mixed = { ...next, owner, fields: mix(random, chosen.fields, next.fields) };
    return { ...state, posts: posts.map((each) => (each === chosen ? mixed : each)) };
  }
}

/** What a hidden change can be of. */
export interface HiddenChanges {
  /** Hidden fields of posts that are seen. */
  readonly seen: boolean;
  /** Also of those whose `updatedAt` is shown. */
  readonly dated: boolean;
  readonly projects: boolean;
}

/** Some fields of one, and some of the other. */
function mix(random: Random, one: Fields, other: Fields): Fields {
  const share = pick(random, [0.2, 0.7]);
  const names = Object.keys({ ...one, ...other });
  const entries = names.flatMap((name) => {
    const from = random() < share ? other : one;
    return from[name] === undefined ? [] : [[name, from[name]]];
  });
  return Object.fromEntries(entries);
}

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export const accepts = ["application/json", "application/x-ndjson", "text/csv"];

/** The subject has tokens for all, and is in one team. */
export const callerOf = (name: "ann" | "anonymous"): Caller =>
  name === "ann"
    ? { subject: name, roles: [], scopes: ["posts:*", "projects:*"], sets: { teams: ["north"] } }
    : { roles: [], scopes: [], sets: {} };

export const names = ["anonymous", "ann", "bob", "admin"] as const;
export type Name = (typeof names)[number];

/** Milliseconds must differ, so that orders by time are the same on every server. */
let lastAt = 0;
function nextMillisecond(): void {
  while (Date.now() <= lastAt);
  lastAt = Date.now();
}

export class Server {
  readonly #app: TestApp;
  readonly #tokens: Partial<Record<Name, string>> = {};
  #state: State = { posts: [], projects: [], others: [] };
  /** What was read before. */
  readonly #tags = new Map<string, { readonly etag: string; readonly body: string }>();

  constructor(app: TestApp) {
    this.#app = app;
    this.#tokens.admin = app.admin;
  }

  stop = () => this.#app.stop();

  async send(who: Name, sent: Sent): Promise<Got> {
    const { body: given } = sent;
    const isSentAsIs =
      given === undefined || typeof given === "string" || given instanceof Uint8Array;
    const body = isSentAsIs ? given : JSON.stringify(given);
    const type = sent.method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const token = this.#tokens[who];
    const length = { "content-length": String(Buffer.byteLength(body ?? "")) };
    const request = new Request(`http://localhost${sent.path}`, {
      method: sent.method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": type, ...length }),
        ...sent.headers,
      },
      ...(body === undefined ? {} : { body: body as NonNullable<RequestInit["body"]> }),
    });
    const response = await this.#app.direct(request, "127.0.0.1");
    const { status, headers } = response;
    return { status, headers, body: sent.method === "HEAD" ? "" : await response.text() };
  }

  async must(
    method: string,
    path: string,
    body?: unknown,
    headers: Sent["headers"] = {},
  ): Promise<Got> {
    nextMillisecond();
    const sent = { method, path, headers, ...(body === undefined ? {} : { body }) };
    const got = await this.send("admin", sent);
    assert.ok(got.status < 300, `${method} ${path} ${JSON.stringify(body)}: ${got.body}`);
    return got;
  }

  async prepare(): Promise<void> {
    await this.must("PUT", "/-/collections/memberships", {
      schema: { type: "object", properties: { user: text, team: text } },
    });
    const set = { collection: "memberships", where: { user: "$me" }, field: "team" };
    await this.must("PUT", "/-/access", { sets: { teams: set } });
    for (const subject of subjects) {
      const scopes = ["posts:*", "projects:*", "notes:*"];
      const made = await this.must("POST", "/-/tokens", { name: subject, subject, scopes });
      this.#tokens[subject as Name] = JSON.parse(made.body).token;
    }
  }

  async begin(rules: Ruled, caller: Name, ownTeams: readonly string[], state: State) {
    for (const name of ["posts", "projects"])
      await this.send("admin", {
        method: "DELETE",
        path: `/-/collections/${name}?confirm=${name}`,
      });
    const ofProject = { name: text, kind: text, lead: text, secret: text };
    await this.must("PUT", "/-/collections/projects", {
      schema: { type: "object", properties: ofProject },
      ...projectRules,
    });
    await this.must("PUT", "/-/collections/posts", { ...definition, ...rules });
    for (const { id, fields } of state.projects) await this.must("PUT", `/projects/${id}`, fields);
    this.#state = { posts: [], projects: state.projects, others: state.others };
    this.#tags.clear();
    await this.#join(caller, ownTeams, state.others);
    await this.become(state);
  }

  async #join(caller: Name, own: readonly string[], others: readonly string[]): Promise<void> {
    for (const user of subjects)
      for (const team of teams) {
        const path = `/memberships/${user}-${team}`;
        const isIn = (user === caller ? own : others).includes(team);
        if (isIn) await this.must("PUT", path, { user, team });
        else await this.send("admin", { method: "DELETE", path });
      }
  }

  /** Writes what differs from the state before. */
  async become(state: State): Promise<void> {
    for (const { id, fields } of state.projects) {
      const before = this.#state.projects.find((each) => each.id === id);
      if (JSON.stringify(before?.fields) !== JSON.stringify(fields))
        await this.must("PUT", `/projects/${id}`, fields);
    }
    for (const { id } of this.#state.posts)
      if (!state.posts.some((each) => each.id === id)) await this.must("DELETE", `/posts/${id}`);
    for (const post of state.posts) {
      const { id, fields, owner } = post;
      const before = this.#state.posts.find((each) => each.id === id);
      if (JSON.stringify(before) === JSON.stringify(post)) continue;
      await this.must("PUT", `/posts/${id}`, fields);
      await this.must("PATCH", `/posts/${id}`, { _owner: owner ?? null });
    }
    this.#state = state;
  }

  /** A tag changes when what is shown does, and only then, and the server answers 304 accordingly. */
  async checkTag(who: Name, sent: Sent, { headers, body }: Got, words: string): Promise<void> {
    const etag = headers.get("etag") ?? "";
    const name = `${who} ${JSON.stringify(sent)}`;
    const before = this.#tags.get(name) ?? { etag, body };
    this.#tags.set(name, { etag, body });
    if (etag === "" || before.etag === "") return;
    assert.equal(etag === before.etag, body === before.body, `the tag: ${words}`);
    if (this.#tags.size % 3 > 0 && etag === before.etag) return;
    const asked = { ...sent, headers: { ...sent.headers, "if-none-match": before.etag } };
    const again = await this.send(who, asked);
    assert.equal(again.status, etag === before.etag ? 304 : 200, `the tag: ${words}`);
  }
}
