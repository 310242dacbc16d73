// What rules hide from a caller does not change what it sees: two servers whose states differ only in what
// the caller cannot see give the same responses, and no cache gives one caller the bytes of another.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Fields } from "../random-where.ts";
import { isLong, newSeed, randomNumbers, runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { type Caller, type Ruled, RulesModel, type Stored } from "./rules-model.ts";

type Random = () => number;
const pick = <T>(random: Random, choices: readonly T[]): T =>
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
const cases: Readonly<Record<string, Ruled>> = {
  "published, mine or my team's": {
    access: {
      read: [
        published,
        mine,
        {
          ...{ name: "secret name of team", to: "token", where: { team: { in: "$my.teams" } } },
          fields: ["title", "body", "team", "salary", "updatedAt", "project"],
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

const definition = {
  schema: {
    type: "object",
    properties: {
      ...{ title: text, body: text, author: text, team: text, status: text, project: text },
      salary: integer,
      tags: { type: "array", items: text },
    },
  },
  indexed: ["title", "salary"],
  searchable: ["title"],
  references: { project: { collection: "projects" } },
};

const vocabulary = ["red", "green", "blue", "redder", "sea", "ship"];
const subjects = ["ann", "bob"];
const teams = ["north", "south"];
const statuses = ["draft", "published"];

/** What is stored. Posts come in the order in which they are created. */
interface State {
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

function randomState(random: Random): State {
  const projects = [0, 1, 2].map((index) => randomProject(random, `p${index}`));
  const posts = Array.from({ length: 10 }, (_, index) =>
    randomPost(random, `t${index}`, { projects }),
  );
  return { posts, projects, others: teams.filter(() => random() < 0.5) };
}

/** What one caller sees of a state. */
class Sight {
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
interface HiddenChanges {
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

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

const names = ["anonymous", "ann", "bob", "admin"] as const;
type Name = (typeof names)[number];

/** Milliseconds must differ, so that orders by time are the same on every server. */
let lastAt = 0;
function nextMillisecond(): void {
  while (Date.now() <= lastAt);
  lastAt = Date.now();
}

class Server {
  readonly #app: TestApp;
  readonly #tokens: Partial<Record<Name, string>> = {};
  #state: State = { posts: [], projects: [], others: [] };
  /** What was read before: a tag changes when what is shown does, and only then. */
  readonly #tags = new Map<string, { readonly etag: string; readonly body: string }>();

  constructor(app: TestApp) {
    this.#app = app;
    this.#tokens.admin = app.admin;
  }

  stop = () => this.#app.stop();

  async send(who: Name, sent: Sent): Promise<Got> {
    const body =
      sent.body === undefined || typeof sent.body === "string"
        ? sent.body
        : JSON.stringify(sent.body);
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
      ...(body === undefined ? {} : { body }),
    });
    const response = await this.#app.direct(request, "127.0.0.1");
    const { status, headers } = response;
    return { status, headers, body: sent.method === "HEAD" ? "" : await response.text() };
  }

  async must(method: string, path: string, body?: unknown): Promise<Got> {
    nextMillisecond();
    const sent = body === undefined ? { method, path } : { method, path, body };
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
      const scopes = ["posts:*", "projects:*"];
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

  checkTag(name: string, { headers, body }: Got): void {
    const etag = headers.get("etag") ?? "";
    const before = this.#tags.get(name);
    if (before !== undefined && etag !== "")
      assert.equal(etag === before.etag, body === before.body, `the tag of ${name}`);
    this.#tags.set(name, { etag, body });
  }
}

/** Times differ between servers, and positions and tags are for servers alone to read. */
const comparable = (given: string): string =>
  given
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "<time>")
    .replaceAll(/"(next|since)":"[^"]+"/g, '"$1":"<position>"')
    .replaceAll(/(cursor|since)=[\w.-]{12,}/g, "$1=<position>")
    .replaceAll(/"requestId":"[^"]*"/g, '"requestId":"<id>"')
    .replaceAll(/"_etag":"(?:[^"\\]|\\.)*"/g, '"_etag":"<tag>"')
    .replaceAll(/"""[\w.-]+"""/g, '"""<tag>"""');

const ownFields = ["date", "x-request-id", "content-length", "etag", "last-modified", "age"];

const shown = ({ status, headers, body }: Got) => ({
  status,
  body: comparable(body),
  isTagged: headers.has("etag"),
  isDated: headers.has("last-modified"),
  fields: [...headers]
    .filter(([name]) => !ownFields.includes(name))
    .map(([name, value]) => `${name}: ${comparable(value)}`)
    .toSorted(),
});

const fields = ["title", "author", "team", "status", "salary", "project", "updatedAt", "tags"];
const accepts = ["application/json", "application/x-ndjson", "text/csv"];

const listQueries: readonly string[] = [
  ...["", "limit=2", "page=2&limit=2", "page=9", "total=none&limit=3", "cursor=&limit=2"],
  ...fields.flatMap((field) => [
    `sort=${field}`,
    `sort=-${field}&limit=2&cursor=`,
    `fields=${field}`,
    `${field}[exists]=true`,
    `${field}[exists]=false`,
    `aggregate=count&by=${field}`,
  ]),
  ...["title[startsWith]=re", "title[like]=*e*", "author=ann", "author[ne]=ann", "tags=red"],
  ...["team=north", "team[ne]=north", "status[in]=draft,published", "salary[gte]=1", "salary=0"],
  ...[
    "salary[lt]=9",
    "team=north&salary=1",
    "updatedAt[gt]=2020-01-01",
    "createdAt[gt]=2020-01-01",
  ],
  ...["q=red", "q=red*", "q=sea+ship", "q=blue&sort=title", "q=ship&limit=1", "q=green&team=north"],
  ...["aggregate=count", "aggregate=sum(salary)", "aggregate=min(title),max(title)"],
  ...["aggregate=count,avg(salary)&by=status", "aggregate=count&team[ne]=north"],
  ...[
    "expand=project",
    "expand=project&fields=title",
    "project.name[exists]=true",
    "sort=project.name",
  ],
  ...["project.secret=red", "project.secret[ne]=red", "project.kind=open", "sort=-project.secret"],
  ...["project.lead=ann", "project.secret[exists]=false", "project=p0", "project[in]=p1,p2"],
  ...["fields=*,_etag", "sort=createdAt", "sort=-createdAt&limit=3", "fields=*,_owner", "nope=1"],
  ...["sort=nope", "fields=nope", "aggregate=sum(nope)", "expand=nope", "cursor=abc", "page=0"],
  ...["since=abc", "since=999999", "where={", "_owner=ann", "$owner=ann"],
];

const feedQueries = ["since=0", "since=0&limit=2", "since=0&author=ann"];

const questions: readonly object[] = [
  { where: { $or: [{ salary: 1 }, { title: { startsWith: "r" } }] } },
  { where: { $not: { salary: { gte: 0 } } }, sort: ["-createdAt"], fields: ["*", "_etag"] },
  { where: { $not: { team: "north" } } },
  { where: { tags: { some: { eq: "red" } } } },
  { where: { $not: { tags: { some: { eq: "red" } } } } },
  { where: { "project.secret": { ne: "red" } }, expand: ["project"] },
  { q: "red", where: { author: "ann" }, limit: 3 },
  { where: { nope: 1 } },
  { sort: ["salary"] },
];

function readsOf(random: Random): readonly Sent[] {
  const lists = listQueries.map((query) => ({
    method: random() < 0.1 ? "HEAD" : "GET",
    path: `/posts${query === "" ? "" : `?${query}`}`,
    headers: { accept: random() < 0.7 ? "application/json" : pick(random, accepts) },
  }));
  const projects = ["", "sort=name", "sort=secret", "secret=red", "secret[ne]=red", "lead=ann"].map(
    (query) => ({ method: "GET", path: `/projects?${query}` }),
  );
  const bodies = questions.map((body) => ({ method: "QUERY", path: "/posts", body }));
  return [...lists, ...projects, ...bodies, { method: "GET", path: "/-/access/posts" }];
}

/** Requests for one resource, which change nothing when the caller does not see it. */
const requestsFor = (id: string, isSeen: boolean): readonly Sent[] => {
  const path = `/posts/${id}`;
  const stale = { "if-match": '"zz"' };
  const reads = [
    { method: "GET", path },
    { method: "HEAD", path },
    { method: "GET", path: `${path}?fields=title,salary` },
    { method: "GET", path: `${path}?expand=project` },
    { method: "GET", path: `${path}/photo` },
    { method: "GET", path, headers: stale },
    { method: "GET", path: `/-/access/posts/${id}` },
    { method: "PATCH", path, body: { title: "x" }, headers: stale },
    { method: "DELETE", path, headers: stale },
  ];
  if (isSeen) return reads;
  const operations = { "content-type": "application/vnd.restante.operations+json" };
  const jsonPatch = { "content-type": "application/json-patch+json" };
  return [
    ...reads,
    { method: "PATCH", path, body: { title: "x" } },
    { method: "PATCH", path, body: { salary: "x" } },
    { method: "PATCH", path, body: { increment: { salary: 1 } }, headers: operations },
    {
      method: "PATCH",
      path,
      body: [{ op: "test", path: "/salary", value: 1 }],
      headers: jsonPatch,
    },
    { method: "DELETE", path },
    { method: "PUT", path, body: { title: "x" }, headers: stale },
    { method: "PUT", path, body: { title: "x" }, headers: { "if-match": "*" } },
    { method: "POST", path: "/-/batch", body: { operations: [{ method: "DELETE", path }] } },
  ];
};

const nextIn = ({ body }: Got): string | undefined =>
  /"more":false/.test(body) ? undefined : /"next":"([^"]+)"/.exec(body)?.[1];
const positionIn = ({ body }: Got): string => /"next":"([^"]+)"/.exec(body)?.[1] ?? "";

class Comparison {
  readonly #servers: readonly [Server, Server];
  readonly #caller: Name;
  readonly #words: string;

  constructor(servers: readonly [Server, Server], caller: Name, words: string) {
    this.#servers = servers;
    this.#caller = caller;
    this.#words = words;
  }

  async compare(sent: Sent, isChecked = true): Promise<readonly [Got, Got]> {
    return this.#compare(sent, sent, isChecked);
  }

  async #compare(one: Sent, other: Sent, isChecked: boolean): Promise<readonly [Got, Got]> {
    const asked = JSON.stringify(one);
    const got = [
      await this.#servers[0].send(this.#caller, one),
      await this.#servers[1].send(this.#caller, other),
    ] as const;
    const words = `${this.#words}: ${this.#caller} ${asked}`;
    assert.ok(got[0].status < 500, `${words} ${got[0].body}`);
    assert.deepEqual(shown(got[0]), shown(got[1]), words);
    assert.doesNotMatch(got[0].body, /secret name/, words);
    if (isChecked && one.method === "GET" && got[0].status === 200)
      for (const [index, each] of got.entries())
        this.#servers[index as 0 | 1].checkTag(`${this.#words} ${asked}`, each);
    return got;
  }

  /** A walk goes on with each server's own cursors. */
  async walk(sent: Sent, isChecked: boolean): Promise<readonly [string, string]> {
    let got = await this.compare(sent, isChecked);
    for (let pages = 0; pages < 50; pages++) {
      const [here, there] = [nextIn(got[0]), nextIn(got[1])];
      if (here === undefined || there === undefined || sent.method !== "GET") break;
      const at = (place: string) => ({
        ...sent,
        path: sent.path.replace(/(cursor|since)=[^&]*/, `$1=${place}`),
      });
      got = await this.#compare(at(here), at(there), false);
    }
    return [positionIn(got[0]), positionIn(got[1])];
  }

  async readAll(reads: readonly Sent[]): Promise<void> {
    for (const sent of reads) await this.walk(sent, !/[?&]cursor=./.test(sent.path));
  }

  /** Follows feeds from the given positions, or from the beginning. */
  async follow(from?: readonly [string, string]): Promise<readonly [string, string]> {
    if (from !== undefined) {
      const at = (place: string): Sent => ({ method: "GET", path: `/posts?since=${place}` });
      const got = await this.#compare(at(from[0]), at(from[1]), false);
      return [positionIn(got[0]), positionIn(got[1])];
    }
    for (const query of feedQueries)
      await this.walk({ method: "GET", path: `/posts?${query}` }, false);
    return this.walk({ method: "GET", path: "/posts?since=0" }, false);
  }
}

for (const store of storesHere("node", [undefined, "postgres"]))
  describe(`what rules hide, on ${store ?? "sqlite"}`, () => {
    let servers: readonly [Server, Server];
    before(async () => {
      servers = [new Server(await startApp({ store })), new Server(await startApp({ store }))];
      for (const server of servers) await server.prepare();
    });
    after(async () => {
      for (const server of servers ?? []) await server.stop();
    });

    for (const [title, rules] of Object.entries(cases))
      it(`does not change what a caller sees: ${title}`, async () => {
        const seed = newSeed(`leaks of ${title} on ${store ?? "sqlite"}`);
        for (let run = 0; run < runs(1, 40); run++)
          for (const name of ["ann", "anonymous"] as const) {
            const random = randomNumbers(seed + run);
            const own = name === "ann" ? teams.slice(0, 1) : [];
            const sets = { teams: own };
            const scopes = name === "ann" ? ["posts:*", "projects:*"] : [];
            const who = name === "ann" ? { subject: name } : {};
            const sight = new Sight({ ...who, roles: [], scopes, sets }, rules);
            const first = randomState(random);
            const all = { seen: true, dated: true, projects: true };
            const second = sight.hiddenChange(random, { ...first, others: [] }, 15, all);
            await servers[0].begin(rules, name, own, first);
            await servers[1].begin(rules, name, own, second);
            const words = `seed ${seed + run}, ${title}`;
            const comparison = new Comparison(servers, name, words);
            const reads = readsOf(random);
            await comparison.readAll(reads);
            const position = await comparison.follow();
            const seen = sight.seenPosts(first).map(({ id }) => id);
            const ids = new Set([...first.posts, ...second.posts].map(({ id }) => id));
            for (const id of [...ids, "missing"])
              for (const sent of requestsFor(id, seen.includes(id)))
                await comparison.compare(sent, false);
            // Others write what the caller does not see: nothing changes for it, and its feed goes on.
            const others = { seen: false, dated: false, projects: false };
            const next = [first, second].map((state) =>
              sight.hiddenChange(random, state, 4, others),
            );
            for (const [index, state] of next.entries())
              await servers[index as 0 | 1].become(state);
            await comparison.readAll(reads.filter((_, index) => isLong || index % 2 === 0));
            if (position[0] !== "") await comparison.follow(position);
            // Hidden fields of what it sees, and hidden projects.
            for (const [index, state] of next.entries())
              await servers[index as 0 | 1].become(
                sight.hiddenChange(random, state, 6, { ...all, dated: false }),
              );
            await comparison.readAll(reads.filter((_, index) => isLong || index % 2 === 1));
          }
      });

    it("does not pass from one caller to another through a cache", async () => {
      const [server] = servers;
      for (const [title, rules] of Object.entries(cases)) {
        const random = randomNumbers(newSeed(`caches of ${title} on ${store ?? "sqlite"}`));
        const state = randomState(random);
        await server.begin(rules, "ann", teams.slice(0, 1), { ...state, others: teams });
        const paths = [
          ...["", "?q=red", "?aggregate=count", "?sort=title", "?limit=2", "?expand=project"],
          ...["?since=0", "?fields=title,_etag", ...state.posts.map(({ id }) => `/${id}`)],
          ...state.posts.slice(0, 3).map(({ id }) => `/${id}?expand=project`),
        ].map((query) => `/posts${query}`);
        for (const path of paths)
          for (const accept of accepts) {
            const sent = { method: "GET", path, headers: { accept } };
            const got = await Promise.all(names.map((name) => server.send(name, sent)));
            for (const [first, stored] of got.entries())
              for (const [second, wanted] of got.entries()) {
                // A position of a feed is another text each time, for whomever it is.
                if (first === second || sameBytes(stored.body, wanted.body)) continue;
                // What everyone sees is no secret; an admin who asks again gets more.
                const isOpen =
                  sameBytes(stored.body, got[0]?.body ?? "") && names[second] === "admin";
                if (isOpen && !/private/.test(stored.headers.get("cache-control") ?? "")) continue;
                const about = `${title}: ${names[first]} then ${names[second]}, ${path} ${accept}`;
                assertNotReused(stored, about);
                const etag = stored.headers.get("etag");
                if (etag === null || wanted.status !== 200) continue;
                const asked = { ...sent, headers: { accept, "if-none-match": etag } };
                const again = await server.send(names[second] as Name, asked);
                assert.equal(again.status, 200, about);
              }
          }
      }
    });
  });

const sameBytes = (one: string, other: string): boolean =>
  one.replace(position, "") === other.replace(position, "");

const position = /(?<="next":")[^"]*(?=","more":(?:true|false)\}$)/;

/** No cache may answer another caller with it: a shared one never, a private one not without the same token. */
function assertNotReused({ status, headers }: Got, words: string): void {
  const control = headers.get("cache-control") ?? "";
  if (/no-store/.test(control)) return;
  assert.match(control, /\bprivate\b/, `${words} ${status}`);
  assert.match(headers.get("vary") ?? "", /\bauthorization\b/i, `${words} ${status}`);
}
