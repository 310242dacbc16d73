// Hidden resources do not change what a caller sees: every read is compared with the same read of a second
// server that stores only what this caller may see.
// @tier all

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { itOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";

const definition = {
  access: { read: "owner", update: "owner", delete: "owner" },
  indexed: ["n", "tag"],
  searchable: ["text", "more"],
  unique: ["code", ["code", "tag"]],
  schema: {
    properties: {
      text: { type: "string" },
      code: { type: "string" },
      n: { type: "integer" },
      tag: { type: "string" },
      more: {
        type: "object",
        properties: { open: { type: "string" }, secret: { type: "string", writeOnly: true } },
      },
    },
  },
};

const vocabulary = ["red", "green", "blue", "redder", "sea", "ship"];
const tags = ["x", "y", "z"];
const callers = ["ann", "bob", "carl"] as const;
type Name = (typeof callers)[number] | "admin";

/** One of these for what all hold, and one for each caller who sees a part. */
interface Server {
  readonly app: TestApp;
  readonly tokens: Readonly<Record<Name, string>>;
}

async function start(store: string | undefined): Promise<Server> {
  const app = await startApp({ store });
  const [ann, bob] = [await app.token("notes:*"), await app.token("notes:*")];
  // Carl owns nothing.
  const carl = await app.token("notes:read");
  return { app, tokens: { admin: app.admin, ann, bob, carl } };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  /** A text is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

async function send({ app, tokens }: Server, who: Name, sent: Sent): Promise<Got> {
  const body =
    sent.body === undefined || typeof sent.body === "string"
      ? sent.body
      : JSON.stringify(sent.body);
  const type = sent.method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const content =
    body === undefined
      ? {}
      : { "content-type": type, "content-length": String(Buffer.byteLength(body)) };
  const request = new Request(`http://localhost${sent.path}`, {
    method: sent.method,
    headers: { authorization: `Bearer ${tokens[who]}`, ...content, ...sent.headers },
    ...(body === undefined ? {} : { body }),
  });
  const response = await app.direct(request, "127.0.0.1");
  const isHead = sent.method === "HEAD";
  return {
    status: response.status,
    headers: response.headers,
    body: isHead ? "" : await response.text(),
  };
}

/** Times differ between servers, and positions and tags are for servers alone to read. */
const comparable = (text: string): string =>
  text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "<time>")
    .replaceAll(/"next":"[^"]+"/g, '"next":"<cursor>"')
    .replaceAll(/"location":"\/notes\/[0-9a-f-]{36}"/g, '"location":"<new>"')
    .replaceAll(/"since":"x[^"]+"/g, '"since":"<position>"')
    .replaceAll(/(cursor|since)=[\w.-]{20,}/g, "$1=<position>")
    .replaceAll(/cursor=[\w-]+/g, "cursor=<position>")
    .replaceAll(/"requestId":"[^"]*"/g, '"requestId":"<id>"')
    .replaceAll(/"_etag":"(?:[^"\\]|\\.)*"/g, '"_etag":"<tag>"')
    .replaceAll(/"""[\w.-]+"""/g, '"""<tag>"""');

const plainFields = [
  ...["link", "x-total-count", "content-type", "vary", "cache-control"],
  ...["content-disposition", "preference-applied"],
];

const shown = ({ status, headers, body }: Got) => ({
  status,
  body: comparable(body),
  isTagged: headers.has("etag"),
  isDated: headers.has("last-modified"),
  fields: plainFields.map((name) => comparable(headers.get(name) ?? "")),
});

type Random = () => number;
const pick = <T>(random: Random, choices: readonly T[]): T =>
  choices[Math.floor(random() * choices.length)] as T;

function randomFields(random: Random): object {
  const words = (most: number) =>
    Array.from({ length: Math.floor(random() * most) }, () => pick(random, vocabulary)).join(" ");
  return {
    text: words(12),
    n: Math.floor(random() * 4),
    tag: pick(random, tags),
    more: { open: words(3), secret: words(3) },
  };
}

/** A write, by whom, and whose resource it is. */
interface Write {
  readonly who: Name;
  readonly owner: Name;
  readonly sent: Sent;
}

function randomWrite(random: Random): Write {
  const owner = pick<Name>(random, ["ann", "ann", "bob", "bob", "bob", "admin"]);
  // An administrator may change what others own, but what it creates is its own.
  const who = random() < 0.2 ? "admin" : owner;
  const id = `${owner}${Math.floor(random() * 6)}`;
  const path = `/notes/${id}`;
  // Nobody is refused because of a value that another owner has.
  const body = { ...randomFields(random), code: id };
  const isChange = who !== owner || random() < 0.2;
  if (random() < 0.2) return { who, owner, sent: { method: "DELETE", path } };
  if (isChange) return { who, owner, sent: { method: "PATCH", path, body } };
  return { who, owner, sent: { method: "PUT", path, body } };
}

const queries = [
  ...["", "limit=2", "page=2&limit=2", "page=9", "total=none&limit=3", "fields=n,more"],
  ...["sort=n", "sort=-n,text&limit=3", "sort=-createdAt", "sort=updatedAt", "sort=-updatedAt"],
  ...[
    "n[gte]=2",
    "tag=x",
    "tag[ne]=x&sort=-n",
    "text[like]=*e*",
    "tag[in]=x,y&n=1",
    "n[exists]=false",
  ],
  ...["more.open[exists]=true", "more.secret=red", "fields=*,_etag", "createdAt[gt]=2020-01-01"],
  ...["cursor=&limit=2", "cursor=&limit=2&sort=n", "cursor=&limit=2&tag=x&sort=-tag"],
  ...["since=0", "since=0&limit=2", "since=0&limit=2&tag=x"],
];

const searches = ["red", "red*", "sea ship", "green blue", "ship*", "red green blue", "blue sea"];
const accepts = ["application/json", "application/x-ndjson", "text/csv"];

/** Imports of ids and values that anybody may have, which write nothing. */
function dryRuns(random: Random): readonly Sent[] {
  const idOf = () => `${pick(random, ["ann", "bob", "admin", "new"])}${Math.floor(random() * 6)}`;
  return ["key=id", "key=code", "key=id&atomic=true", "atomic=false"].map((query) => {
    const lines = Array.from({ length: 5 }, () => ({
      ...(query.includes("id") || (query === "key=code" && random() < 0.2) ? { id: idOf() } : {}),
      ...(query === "key=code" || random() < 0.7 ? { code: idOf() } : {}),
      ...{ n: 1, tag: pick(random, tags) },
    }));
    return {
      method: "POST",
      path: `/notes?dry-run=true&${query}`,
      body: lines.map((line) => JSON.stringify(line)).join("\n"),
      headers: { "content-type": "application/x-ndjson" },
    };
  });
}

/** Every read at this moment. */
function readsOf(random: Random): readonly Sent[] {
  const asked = [
    ...queries,
    ...searches.map((q) => `q=${encodeURIComponent(q)}`),
    ...searches.map((q) => `q=${encodeURIComponent(q)}&tag=${pick(random, tags)}&limit=2`),
    ...searches.map((q) => `q=${encodeURIComponent(q)}&sort=-n`),
  ];
  const lists = asked.map((query) => ({
    method: random() < 0.1 ? "HEAD" : "GET",
    path: `/notes${query === "" ? "" : `?${query}`}`,
    headers: { accept: random() < 0.6 ? "application/json" : pick(random, accepts) },
  }));
  const questions: readonly object[] = [
    { where: { n: { lt: 3 } }, sort: "-n", fields: ["*", "_etag"] },
    { q: pick(random, searches), limit: 3 },
    { q: pick(random, searches), where: { tag: pick(random, tags) }, total: "none", limit: 1 },
    { cursor: "", limit: 2, sort: ["tag", "-createdAt"] },
  ];
  const bodies = questions.map((body) => ({ method: "QUERY", path: "/notes", body }));
  const ones = ["ann", "bob", "admin"].map((owner) => ({
    method: "GET",
    path: `/notes/${owner}${Math.floor(random() * 6)}`,
  }));
  return [...lists, ...bodies, ...ones, ...dryRuns(random)];
}

/** What was read before under a name: a tag changes when what is shown does, and only then. */
class Tags {
  readonly #known = new Map<string, { readonly etag: string; readonly body: string }>();

  check(name: string, { headers, body }: Got): void {
    const etag = headers.get("etag") ?? "";
    const before = this.#known.get(name);
    if (before !== undefined && etag !== "")
      assert.equal(etag === before.etag, body === before.body, `the tag of ${name}`);
    this.#known.set(name, { etag, body });
  }
}

const nextIn = ({ body }: Got): string | undefined => /"next":"([^"]+)"/.exec(body)?.[1];

/** The milliseconds must differ, so that orders by time are the same on every server. */
let lastAt = 0;
function nextMillisecond(): void {
  while (Date.now() <= lastAt);
  lastAt = Date.now();
}

class Comparison {
  readonly #all: Server;
  readonly #alone: Readonly<Record<(typeof callers)[number], Server>>;
  readonly #tags = new Tags();
  readonly #random: Random;
  readonly #words: string;

  constructor(all: Server, alone: Comparison["alone"], random: Random, words: string) {
    this.#all = all;
    this.#alone = alone;
    this.#random = random;
    this.#words = words;
  }

  get alone(): Readonly<Record<(typeof callers)[number], Server>> {
    return this.#alone;
  }

  async begin(): Promise<void> {
    for (const server of [this.#all, ...Object.values(this.#alone)]) {
      await send(server, "admin", { method: "DELETE", path: "/-/collections/notes?confirm=notes" });
      const path = "/-/collections/notes";
      const { status, body } = await send(server, "admin", {
        method: "PUT",
        path,
        body: definition,
      });
      assert.equal(status, 201, body);
    }
  }

  async write(): Promise<void> {
    const { who, owner, sent } = randomWrite(this.#random);
    nextMillisecond();
    const got = await send(this.#all, who, sent);
    assert.ok(got.status < 500, got.body);
    if (owner === "admin") return;
    nextMillisecond();
    const alone = await send(this.#alone[owner as "ann"], who, sent);
    assert.deepEqual(shown(alone), shown(got), `${this.#words}: ${sent.method} ${sent.path}`);
  }

  async read(): Promise<void> {
    const reads = readsOf(this.#random);
    for (const caller of callers) for (const sent of reads) await this.#compare(caller, sent);
  }

  async #compare(caller: (typeof callers)[number], sent: Sent): Promise<void> {
    const got = await send(this.#all, caller, sent);
    const alone = await send(this.#alone[caller], caller, sent);
    const asked = JSON.stringify(sent);
    const words = `${this.#words}: ${caller} ${asked}`;
    assert.ok(got.status < 500, got.body);
    assert.deepEqual(shown(got), shown(alone), words);
    if (sent.method === "HEAD") return;
    const name = `${caller} ${asked}`;
    this.#tags.check(name, got);
    const etag = got.headers.get("etag");
    if (etag !== null && this.#random() < 0.2) {
      const headers = { ...sent.headers, "if-none-match": etag };
      const again = await send(this.#all, caller, { ...sent, headers });
      assert.deepEqual([again.status, again.body, again.headers.get("etag")], [304, "", etag]);
    }
    await this.#follow(caller, sent, [got, alone], words);
  }

  /** A walk by cursor goes on with each server's own cursors. */
  async #follow(
    caller: (typeof callers)[number],
    sent: Sent,
    [got, alone]: readonly [Got, Got],
    words: string,
  ): Promise<void> {
    const [here, there] = [nextIn(got), nextIn(alone)];
    if (here === undefined || there === undefined || sent.method !== "GET") return;
    if (got.body.endsWith('"more":false}')) return;
    const at = (place: string) => sent.path.replace(/(cursor|since)=[^&]*/, `$1=${place}`);
    const pages = [
      await send(this.#all, caller, { ...sent, path: at(here) }),
      await send(this.#alone[caller], caller, { ...sent, path: at(there) }),
    ] as const;
    assert.deepEqual(shown(pages[0]), shown(pages[1]), `${words}, further on`);
    await this.#follow(caller, sent, pages, words);
  }
}

for (const store of [undefined, "postgres"])
  describe(`what a caller sees of a collection with owners, on ${store ?? "sqlite"}`, () => {
    const it = itOn(store);
    let all: Server;
    let alone: Comparison["alone"];
    before(async () => {
      all = await start(store);
      alone = { ann: await start(store), bob: await start(store), carl: await start(store) };
    });
    after(async () => {
      for (const { app } of [all, ...Object.values(alone)]) await app.stop();
    });

    it("is the same as on a server that stores nothing else", async () => {
      const seed = newSeed(`noninterference on ${store ?? "sqlite"}`);
      for (let run = 0; run < runs(1, 40); run++) {
        const random = randomNumbers(seed + run);
        const comparison = new Comparison(all, alone, random, `seed ${seed + run}`);
        await comparison.begin();
        for (let step = 0; step < runs(5, 16); step++) {
          for (let writes = 1 + Math.floor(random() * 3); writes > 0; writes--)
            await comparison.write();
          if (step % 4 === 3) await comparison.read();
        }
      }
    });

    it("does not reveal words of others by the rank of two texts", async () => {
      const body = { ...definition, searchable: ["text"] };
      await send(all, "admin", { method: "PUT", path: "/-/collections/notes", body });
      const put = (who: Name, id: string, text: string) =>
        send(all, who, { method: "PUT", path: `/notes/${id}`, body: { text } });
      // One text says one word more often, the other another: a rarer word would weigh more.
      await put("ann", "first", "sea sea ship");
      await put("ann", "second", "sea ship ship");
      const order = async () => {
        const got = await send(all, "ann", { method: "GET", path: "/notes?q=sea+ship&fields=n" });
        return (JSON.parse(got.body) as { data: { id: string }[] }).data.map(({ id }) => id);
      };
      const before = await order();
      for (const word of ["sea", "ship"]) {
        for (let n = 0; n < 20; n++) await put("bob", `${word}${n}`, `${word} ${word} other`);
        assert.deepEqual(await order(), before, word);
      }
    });
  });
