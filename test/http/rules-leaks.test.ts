// What rules hide from a caller does not change what it sees: two servers whose states differ only in what
// the caller cannot see give the same responses.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { isLong, newSeed, randomNumbers, runs } from "../seeds.ts";
import { isShort } from "../short-run.ts";
import { startApp } from "./app.ts";
import { file, form, text as formText, hashOf } from "./multipart.ts";
import {
  accepts,
  callerOf,
  casesOn,
  type Got,
  type Name,
  pick,
  type Random,
  randomState,
  type Sent,
  Server,
  Sight,
  type State,
  teams,
} from "./rules-states.ts";

/** Times and ids of the server differ. Positions and tags are for servers alone to read, but their length is not. */
const comparable = (given: string): string =>
  given
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "<time>")
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, "<id>")
    .replaceAll(/(?<="(?:next|since)":")[^"]{12,}(?=")/g, lengthOf)
    .replaceAll(/(?<=(?:cursor|since)=)[\w.-]{12,}/g, lengthOf)
    .replaceAll(/(?<="requestId":")[^"]*(?=")/g, "<id>")
    .replaceAll(/(?<="_etag":")(?:[^"\\]|\\.)*(?=")/g, lengthOf)
    .replaceAll(/(?<=""")[\w.-]+(?=""")/g, lengthOf)
    // The second in which a definition was set: contract-version.test.ts says what moves it.
    .replaceAll(/(?<="version":"1\.)\d+(?=\.0\+)/g, lengthOf);

const lengthOf = (given: string): string => `<${given.length} characters>`;

const ownFields = ["date", "x-request-id", "content-length", "etag", "last-modified", "age"];

const shown = ({ status, headers, body }: Got) => ({
  status,
  body: comparable(body),
  tag: headers.get("etag")?.length,
  isDated: headers.has("last-modified"),
  fields: [...headers]
    .filter(([name]) => !ownFields.includes(name))
    .map(([name, value]) => `${name}: ${comparable(value)}`)
    .toSorted(),
});

const fields = ["title", "author", "team", "status", "salary", "project", "updatedAt", "tags"];

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
  ...["aggregate=distinct(title),distinct(salary)", "aggregate=distinct(author)&by=status"],
  ...["aggregate=count&by=range(salary,0,1)&sort=-count", "aggregate=count&by=year(createdAt)"],
  ...["aggregate=max(updatedAt)", "aggregate=count&by=month(updatedAt)", "aggregate=min(tags)"],
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
  ...[
    "title[contains]=e",
    "title[icontains]=RED",
    "body[ieq]=RED",
    "salary=x",
    "sort=title,-salary",
  ],
];

/** A new copy is read in pages; while it is, what changes can come again. */
const feedQueries = ["since=0", "since=0&limit=2", "since=0&author=ann", "since=0&fields=salary"];

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
  const others = ["/-/access/posts", "/-/access/projects", "/-/access/none", "/-/access"].concat(
    ["/-/openapi.json", "/-/queries", "/-/collections", "/-/collections/posts", "/-/tokens"],
    ["/-/ready", "/-/health", "/"],
  );
  return [...lists, ...projects, ...bodies, ...others.map((path) => ({ method: "GET", path }))];
}

/** Requests for one resource, which change nothing when the caller does not see it. */
const requestsFor = (id: string, isSeen: boolean): readonly Sent[] => {
  const path = `/posts/${id}`;
  const stale = { "if-match": '"zz"' };
  const reads = [
    { method: "GET", path },
    { method: "HEAD", path },
    { method: "OPTIONS", path },
    { method: "GET", path: `${path}?fields=title,salary` },
    { method: "GET", path: `${path}?fields=*,_etag` },
    { method: "GET", path: `${path}?fields=_owner` },
    { method: "GET", path: `${path}?expand=project` },
    { method: "GET", path: `${path}/photo` },
    { method: "GET", path: `${path}/title`, headers: { range: "bytes=0-1" } },
    { method: "GET", path, headers: stale },
    { method: "GET", path, headers: { "if-match": "*" } },
    { method: "GET", path, headers: { "if-none-match": "*" } },
    { method: "GET", path, headers: { "if-modified-since": "Sun, 06 Nov 1994 08:49:37 GMT" } },
    { method: "GET", path, headers: { "if-unmodified-since": "Sun, 06 Nov 1994 08:49:37 GMT" } },
    { method: "GET", path, headers: { range: "bytes=0-3" } },
    { method: "GET", path: `/-/access/posts/${id}` },
    { method: "QUERY", path: "/-/access", body: { verb: "read", collection: "posts", id } },
    { method: "PATCH", path, body: { title: "x" }, headers: stale },
    { method: "DELETE", path, headers: stale },
  ];
  if (isSeen) return reads;
  const operations = { "content-type": "application/vnd.restante.operations+json" };
  const jsonPatch = { "content-type": "application/json-patch+json" };
  const test = [{ op: "test", path: "/salary", value: 1 }];
  return [
    ...reads,
    { method: "PATCH", path, body: { title: "x" } },
    { method: "PATCH", path, body: { title: "x" }, headers: { "if-match": "*" } },
    { method: "PATCH", path, body: { salary: "x" } },
    { method: "PATCH", path, body: { increment: { salary: 1 } }, headers: operations },
    { method: "PATCH", path, body: test, headers: jsonPatch },
    { method: "DELETE", path },
    { method: "PUT", path, body: { title: "x" }, headers: stale },
    { method: "PUT", path, body: { title: "x" }, headers: { "if-match": "*" } },
    { method: "POST", path: "/-/batch", body: { operations: [{ method: "DELETE", path }] } },
    {
      ...{ method: "POST", path: "/-/batch" },
      body: { operations: [{ method: "PATCH", path, body: { title: "x" } }] },
    },
  ];
};

/** Writes of the caller itself, some of which are allowed. */
const writesOf = (author: string, seen: readonly string[]): readonly Sent[] => {
  const own = { title: "red sea", author, team: "north", status: "draft", salary: 0 };
  const lines = { "content-type": "application/x-ndjson" };
  const csv = { "content-type": "text/csv" };
  const key = { "idempotency-key": '"a key"' };
  const operations = { "content-type": "application/vnd.restante.operations+json" };
  const jsonPatch = { "content-type": "application/json-patch+json" };
  const test = [{ op: "test", path: "/salary", value: 1 }];
  return [
    { method: "PUT", path: "/posts/own1", body: own },
    { method: "PUT", path: "/posts/own1", body: { ...own, title: "blue ship" } },
    { method: "PUT", path: "/posts/own2", body: { ...own, author: "nobody" } },
    ...["p0", "p1", "p2", "p9"].map((project) => ({
      ...{ method: "PUT", path: `/posts/own-${project}`, body: { ...own, project } },
    })),
    { method: "POST", path: "/posts", body: own, headers: key },
    { method: "POST", path: "/posts", body: own, headers: key },
    { method: "POST", path: "/posts", body: { ...own, salary: "x" } },
    { method: "POST", path: "/posts", body: `${JSON.stringify(own)}\n{"a":1}\n`, headers: lines },
    { method: "POST", path: "/posts", body: `title,author\r\nred,${author}\r\n`, headers: csv },
    {
      method: "PATCH",
      path: "/posts/own1",
      body: { increment: { salary: 1 } },
      headers: operations,
    },
    {
      ...{ method: "POST", path: "/-/batch" },
      body: {
        operations: [
          { method: "POST", path: "/posts", body: own },
          { method: "PATCH", path: "/posts/own1", body: { title: "sea" } },
        ],
      },
    },
    ...seen.flatMap((id) => {
      const path = `/posts/${id}`;
      return [
        { method: "PATCH", path, body: test, headers: jsonPatch },
        { method: "PATCH", path, body: { max: { salary: 1 } }, headers: operations },
        { method: "PATCH", path, body: { title: "sea" }, headers: { prefer: "return=minimal" } },
        { method: "PATCH", path, body: { body: "ship" } },
        { method: "DELETE", path },
      ];
    }),
  ];
};

const nextIn = ({ body }: Got): string | undefined =>
  /"more":false/.test(body) ? undefined : /"next":"([^"]+)"/.exec(body)?.[1];
const positionIn = ({ body }: Got): string => /"next":"([^"]+)"/.exec(body)?.[1] ?? "";
const isList = (path: string) => /^\/(posts|projects)(\?|$)/.test(path);

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
    if (one.method === "GET" && isList(one.path))
      assert.equal(got[0].headers.get("last-modified"), null, words);
    assert.equal(got[0].headers.get("server-timing"), null, words);
    if (isChecked && one.method === "GET" && got[0].status === 200)
      for (const [index, each] of got.entries())
        await this.#servers[index as 0 | 1].checkTag(this.#caller, one, each, words);
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

  /** Feeds from the beginning. Returns the last positions. */
  async feeds(queries = feedQueries): Promise<readonly [string, string]> {
    for (const query of queries) await this.walk({ method: "GET", path: `/posts?${query}` }, false);
    return this.walk({ method: "GET", path: "/posts?since=0" }, false);
  }

  /** Nothing that the caller sees has changed since the positions. */
  async followNothing(from: readonly [string, string]): Promise<void> {
    if (from[0] === "") return;
    const at = (place: string): Sent => ({ method: "GET", path: `/posts?since=${place}` });
    const [{ body }] = await this.#compare(at(from[0]), at(from[1]), false);
    assert.match(body, /^\{"changes":\[\],/, `${this.#words}: ${this.#caller} ${body}`);
  }

  /** What is hidden is as if it were missing. */
  async compareToMissing(id: string): Promise<void> {
    const missing = requestsFor("missing", false);
    for (const [index, sent] of requestsFor(id, false).entries())
      for (const server of this.#servers) {
        const hidden = await server.send(this.#caller, sent);
        const other = await server.send(this.#caller, missing[index] as Sent);
        const words = `${this.#words}: ${this.#caller} ${JSON.stringify(sent)}`;
        const named = JSON.stringify(shown(hidden)).replaceAll(`/${id}`, "/missing");
        assert.deepEqual(
          withoutLengths(named),
          withoutLengths(JSON.stringify(shown(other))),
          words,
        );
      }
  }
}

/** The ids have other lengths. */
const withoutLengths = (given: string): string => given.replaceAll(/content-length: \d+/g, "");

const callers = ["ann", "anonymous"] as const;
/** A share in a short run, and all in a long one. */
const some = <T>(random: Random, all: readonly T[], share: number): readonly T[] =>
  isLong ? all : all.filter(() => random() < share);

/** A short run is always the same. */
const shortSeed = 1;

for (const store of [undefined, "postgres"])
  describe(`what rules hide, on ${store ?? "sqlite"}`, () => {
    let servers: readonly [Server, Server];
    before(async () => {
      servers = [new Server(await startApp({ store })), new Server(await startApp({ store }))];
      for (const server of servers) await server.prepare();
    });
    after(async () => {
      for (const server of servers ?? []) await server.stop();
    });

    const become = async (states: readonly State[]) => {
      for (const [index, state] of states.entries()) await servers[index as 0 | 1].become(state);
    };

    // A short run has every fourth shape.
    const shapes = casesOn(store).filter((_, index) => !isShort || index % 4 === 0);
    for (const [index, [title, rules]] of shapes.entries())
      it(`does not change what a caller sees: ${title}`, async () => {
        const seed = newSeed(`leaks of ${title} on ${store ?? "sqlite"}`, shortSeed);
        for (let run = 0; run < runs(1, 40); run++)
          for (const name of isLong || (index === 0 && store === undefined)
            ? callers
            : callers.slice(0, 1)) {
            const random = randomNumbers(seed + run);
            const own = name === "ann" ? teams.slice(0, 1) : [];
            const sight = new Sight(callerOf(name), rules);
            const before = randomState(random);
            const all = { seen: true, dated: true, projects: true };
            const second = sight.hiddenChange(random, { ...before, others: [] }, 15, all);
            await servers[0].begin(rules, name, own, before);
            await servers[1].begin(rules, name, own, second);
            const comparison = new Comparison(servers, name, `seed ${seed + run}, ${title}`);
            const reads = some(random, readsOf(random), 0.15);
            await comparison.readAll(reads);
            const position = await comparison.feeds();
            const seen = sight.seenPosts(before).map(({ id }) => id);
            const both = new Set([...before.posts, ...second.posts].map(({ id }) => id));
            const ids = some(random, [...both], 0.25);
            for (const id of ids)
              for (const sent of requestsFor(id, seen.includes(id)))
                await comparison.compare(sent, false);
            const hidden = ids.filter((id) => !seen.includes(id));
            for (const id of hidden.slice(0, runs(1, 3))) await comparison.compareToMissing(id);
            // Others write what the caller does not see: nothing changes for it, and its feed goes on.
            const others = { seen: false, dated: false, projects: false };
            const next = [before, second].map((state) =>
              sight.hiddenChange(random, state, 4, others),
            );
            await become(next);
            await comparison.readAll(reads.filter((_, index) => isLong || index % 3 === 0));
            await comparison.followNothing(position);
            // Hidden fields of what it sees.
            const later = next.map((state) =>
              sight.hiddenChange(random, state, 4, { ...others, seen: true }),
            );
            await become(later);
            await comparison.readAll(reads.filter((_, index) => isLong || index % 3 === 1));
            await comparison.followNothing(position);
            await comparison.feeds(["since=0&author=ann"]);
            // Also of projects, whose changes end a feed when rules refer to them.
            const last = later.map((state) =>
              sight.hiddenChange(random, state, 6, { ...all, dated: false }),
            );
            await become(last);
            await comparison.readAll(reads.filter((_, index) => isLong || index % 3 === 2));
            for (const sent of writesOf(name, some(random, seen, 0.25)))
              await comparison.compare(sent, false);
            await comparison.readAll(reads.filter((_, index) => isLong || index % 10 === 0));
          }
      });

    it("is no file that the caller does not see", async () => {
      const [server] = servers;
      const open = { name: "open", to: "everyone", where: { status: "open" }, fields: ["title"] };
      await server.must("PUT", "/-/collections/scans", { access: { read: [open] } });
      const scan = async (status: string, photo?: string) => {
        const texts = [formText("title", "a scan"), formText("status", status)];
        const files = photo === undefined ? [] : [file("photo", "a.txt", photo, "text/plain")];
        const { headers, body } = form([...texts, ...files]);
        const made = await server.must("POST", "/scans", body, headers);
        return JSON.parse(made.body).id as string;
      };
      const withFile = await scan("open", "secret");
      const ids = [withFile, await scan("open"), await scan("closed", "secret"), "none"];
      const tag = `"${hashOf("secret")}"`;
      const asked: readonly Sent["headers"][] = [
        ...[{}, { range: "bytes=0-1" }, { range: "bytes=999-" }, { "if-none-match": tag }],
        ...[{ "if-match": '"zz"' }, { "if-range": tag, range: "bytes=0-1" }],
      ];
      for (const headers of asked)
        for (const method of ["GET", "HEAD"]) {
          const at = (id: string) => ({
            method,
            path: `/scans/${id}/photo`,
            headers: headers ?? {},
          });
          const got = await Promise.all(ids.map((id) => server.send("anonymous", at(id))));
          const words = `${method} ${JSON.stringify(headers)}`;
          const [one, ...others] = got.map((each, index) =>
            withoutLengths(JSON.stringify(shown(each)).replaceAll(`/${ids[index]}/`, "/<id>/")),
          );
          assert.equal(got[0]?.status, 404, words);
          // A resource without a file says so; one that is missing does not.
          assert.equal(others[0], one, words);
          assert.equal(others[1], others[2], words);
        }
      const path = `/scans/${withFile}`;
      const before = await server.send("anonymous", { method: "GET", path });
      const feed = await server.send("anonymous", { method: "GET", path: "/scans?since=0" });
      assert.doesNotMatch(before.body + feed.body, /photo|secret/);
      await server.must("PATCH", path, { photo: null });
      const then = await server.send("anonymous", { method: "GET", path });
      assert.equal(then.headers.get("etag"), before.headers.get("etag"));
      const since = { method: "GET", path: `/scans?since=${positionIn(feed)}` };
      assert.match((await server.send("anonymous", since)).body, /^\{"changes":\[\],/);
    });

    it("is not counted in what the server says about a query", async () => {
      const [server] = servers;
      const mine = { name: "mine", to: "token", where: { author: "$me" } };
      await server.must("PUT", "/-/collections/notes", { access: { read: [mine] } });
      const lines = Array.from({ length: 1_200 }, (_, index) =>
        JSON.stringify({ author: index < 3 ? "ann" : "bob", text: `note ${index}` }),
      );
      const type = { "content-type": "application/x-ndjson" };
      await server.must("POST", "/notes", `${lines.join("\n")}\n`, type);
      const scan = { method: "GET", path: "/notes?text[contains]=note" };
      assert.match(
        (await server.send("admin", scan)).headers.get("server-timing") ?? "",
        /1200 resources/,
      );
      const seen = await server.send("ann", scan);
      assert.equal(seen.headers.get("server-timing"), null);
      assert.equal(seen.headers.get("x-total-count"), "3");
      assert.equal((await server.send("ann", { method: "GET", path: "/-/queries" })).status, 403);
    });
  });
