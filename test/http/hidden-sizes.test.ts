// The sizes of write-only values change no response: two servers that differ only in them answer every read alike.
// @tier all

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { pageLimits } from "../../src/model/query/list-request.ts";
import { lowerLimit } from "../lower-limit.ts";
import { isShort, storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";

const mebibyte = 1024 * 1024;
const pageBytes = lowerLimit(pageLimits, "maxBytes", 5 * mebibyte, 32 * mebibyte);

const properties = {
  n: { type: "integer" },
  text: { type: "string" },
  pin: { type: "string", writeOnly: true },
  account: {
    type: "object",
    properties: { open: { type: "string" }, key: { type: "string", writeOnly: true } },
  },
};
const schema = { properties, required: ["n"] };
const indexes = { indexed: ["n"], searchable: ["text", "account"] };
const titles = { name: "titles", to: "token", fields: ["n", "text", "account"] };

const definitions = {
  whole: { schema, ...indexes },
  owned: { schema, ...indexes, access: { read: "owner", update: "owner", delete: "owner" } },
  granted: { schema, ...indexes, access: { read: [titles] } },
  sources: { references: { "to[]": { collection: "whole" } } },
};
const filled = ["whole", "owned", "granted"];

/** Two in each resource: together they are larger than a page of a list or of a feed. */
const hiddenBytes = pageBytes / 12;
const count = 8;

interface Server {
  readonly app: TestApp;
  readonly reader: string;
}

async function start(store: string | undefined, hidden: string): Promise<Server> {
  const app = await startApp({ store, maxBodyBytes: 8 * mebibyte });
  const reader = await app.token("*:read", "owned:*");
  const put = async (token: string, path: string, body: object) => {
    const response = await fetch(app.url + path, {
      method: "PUT",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 201, await response.text());
  };
  for (const [name, definition] of Object.entries(definitions))
    await put(app.admin, `/-/collections/${name}`, definition);
  const ids = Array.from({ length: count }, (_, n) => `r${10 + n}`);
  for (const name of filled)
    for (const [n, id] of ids.entries())
      await put(name === "owned" ? reader : app.admin, `/${name}/${id}`, {
        n,
        text: `word ${n}`,
        pin: hidden,
        account: { open: "yes", key: hidden },
        ...(n === count - 1 ? { late: true } : {}),
      });
  await put(app.admin, "/sources/all", { to: ids });
  return { app, reader };
}

interface Asked {
  readonly path: string;
  readonly method?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

const queries = [
  ...[
    "limit=1000",
    "limit=10",
    "page=2&limit=5",
    "limit=1000&sort=-createdAt",
    "limit=1000&sort=-n",
  ],
  ...[
    "limit=1000&n[gte]=1",
    "limit=1000&q=word",
    "limit=1000&fields=n",
    "limit=1000&fields=*,_etag",
  ],
  ...[
    "cursor=&limit=1000",
    "cursor=&limit=5&sort=n",
    "total=none&limit=11",
    "account.open=yes&limit=100",
  ],
  ...[
    "since=0",
    "since=0&limit=1000",
    "since=0&limit=5",
    "since=0&n[gte]=3",
    "aggregate=count&by=n",
  ],
];
const formats = ["text/csv", "application/x-ndjson"];

const readsOf = (name: string): readonly Asked[] => [
  ...queries.map((query) => ({ path: `/${name}?${query}` })),
  ...["limit=1000", "since=0&limit=1000"].map((query) => ({
    path: `/${name}?${query}`,
    method: "HEAD",
    headers: { "accept-encoding": "gzip" },
  })),
  ...formats.map((accept) => ({ path: `/${name}`, headers: { accept } })),
  ...formats.map((accept) => ({ path: `/${name}?sort=-n`, headers: { accept } })),
  ...formats.map((accept) => ({ path: `/${name}?limit=1000`, headers: { accept } })),
  { path: `/${name}`, method: "QUERY", body: { limit: 1000, sort: "n" } },
  { path: `/${name}/r11` },
  { path: `/${name}`, method: "HEAD" },
];

const expanded: readonly Asked[] = [
  { path: "/sources?expand=to[]" },
  { path: "/sources/all?expand=to[]" },
  { path: "/sources?expand=to[]", headers: { accept: "application/x-ndjson" } },
];

/** Times and keys differ between servers, and so does what is made of them. */
const comparable = (text: string): string =>
  text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "<time>")
    .replaceAll(/(?<="requestId":")[^"]+/g, "<id>")
    .replaceAll(/(?<="(?:next|_etag)":")(?:[^"\\]|\\.)+/g, "<position>")
    .replaceAll(/(?<=(?:cursor|since)=)[\w.-]{8,}/g, "<position>")
    .replaceAll(/(?<=""")[\w-]+(?=""")/g, "<tag>");

/** A position has the random number of its collection in as many digits as it needs. */
const unequal = ["etag", "content-length"];
const ofServer = ["date", "x-request-id", "last-modified", "server-timing"];

async function look({ app }: Server, token: string, asked: Asked) {
  const { path, method = "GET", body, headers } = asked;
  const type = body && { "content-type": "application/json" };
  const response = await fetch(app.url + path, {
    method,
    headers: {
      ...{ "accept-encoding": "identity", authorization: `Bearer ${token}` },
      ...{ ...type, ...headers },
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const fields = [...response.headers].filter(([name]) => !ofServer.includes(name));
  return {
    status: response.status,
    body: comparable(await response.text()),
    isDated: response.headers.has("last-modified"),
    fields: fields.map(([name, value]) =>
      unequal.includes(name) ? name : [name, comparable(value)],
    ),
  };
}

for (const store of storesHere(undefined, [undefined, "postgres"]))
  describe(`write-only values of any size on ${store ?? "the embedded engine"}`, () => {
    let small: Server;
    let large: Server;
    before(async () => {
      small = await start(store, "x");
      large = await start(store, "x".repeat(hiddenBytes));
    });
    after(async () => {
      await small.app.stop();
      await large.app.stop();
    });

    const callers = ["admin", "reader"] as const;
    let turn = 0;
    const compare = async (asked: Asked) => {
      // A short run has one caller for each read, in turn.
      const first = isShort ? turn++ % 2 : 0;
      for (const who of callers.slice(first, isShort ? first + 1 : 2)) {
        const seenOn = (server: Server) =>
          look(server, who === "admin" ? server.app.admin : server.reader, asked);
        const seen = await seenOn(small);
        assert.equal(seen.status, 200, seen.body.slice(0, 300));
        const name = `${who}: ${asked.method ?? "GET"} ${asked.path} ${JSON.stringify(asked.headers)}`;
        assert.deepEqual(await seenOn(large), seen, name);
      }
    };

    for (const name of filled)
      it(`every read of ${name} is the same`, async () => {
        for (const asked of readsOf(name)) await compare(asked);
      });

    it("what is expanded is the same", async () => {
      for (const asked of expanded) await compare(asked);
    });
  });
