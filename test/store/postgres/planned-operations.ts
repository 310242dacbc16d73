// Everything that servers do with the database, on a few resources.

import assert from "node:assert/strict";
import { system } from "../../../src/model/principal.ts";
import { rows, type Sql } from "../../../src/store/postgres/connection.ts";
import {
  deleteByKeys,
  deleteSomeRows,
  type Keys,
  partTables,
} from "../../../src/store/postgres/delete-rows.ts";
import { hasDeletedParts } from "../../../src/store/postgres/deleted-parts.ts";
import { eraseOutcomes } from "../../../src/store/postgres/erase-outcomes.ts";
import { findReferencedFiles, readFileBytes } from "../../../src/store/postgres/files.ts";
import { purge } from "../../../src/store/postgres/purge.ts";
import { readSnapshot } from "../../../src/store/postgres/snapshot.ts";
import {
  derivedTableNames,
  isTextColumn,
  shapeOf,
  sourceTableNames,
} from "../../../src/store/transfer/source-tables.ts";
import { expireTraces } from "./grown-rows.ts";
import { ndjsonType, type Round, things } from "./planned-round.ts";
import { until } from "./test-databases.ts";

export type Act = (round: Round) => Promise<unknown>;
type Acts = Readonly<Record<string, Act>>;

const operationsType = { "content-type": "application/vnd.restante.operations+json" };

/** Beyond all others, and another one in each round. */
const priceOf = (tag: string): number => Number.parseInt(tag, 36) * 1_000_000;

/** `name` begins with the tag of the round. */
const thing = (name: string) => ({
  ...{ sku: `sku-${name}`, city: `city-${name}`, title: `word${name} more`, state: "open" },
  ...{ price: priceOf(name[0] ?? ""), maker: "all" },
});

/** These concern a few resources, whatever the size of the tables. They build on each other. */
export const operations: Acts = {
  create: ({ send, tag }) => send("POST", "/things", thing(`${tag}1`)),
  "create without an index": ({ send }) => send("POST", "/makers", {}),
  "put a new one": ({ send, tag }) => send("PUT", `/things/${tag}`, thing(`${tag}2`)),
  put: ({ send, tag }) => send("PUT", `/things/${tag}`, thing(`${tag}3`)),
  patch: ({ send, tag }) => send("PATCH", `/things/${tag}`, { title: `t${tag}`, city: tag }),
  operate: ({ send, tag }) =>
    send("PATCH", `/things/${tag}`, { increment: { price: 1 } }, operationsType),
  upsert: ({ send, tag }) => send("PUT", `/things?sku=up${tag}`, { price: 2 }),
  "upsert again": ({ send, tag }) => send("PUT", `/things?sku=up${tag}`, { price: 3 }),
  "create with a key": ({ send, tag }) =>
    send("POST", "/things", thing(`${tag}4`), { "idempotency-key": tag }),
  "create with a key again": ({ send, tag }) =>
    send("POST", "/things", thing(`${tag}4`), { "idempotency-key": tag }),
  batch: ({ send, tag }) =>
    send("POST", "/-/batch", {
      operations: [
        { method: "PUT", path: `/things/b${tag}`, body: thing(`${tag}5`) },
        { method: "PUT", path: `/makers/${tag}`, body: { name: "M" } },
        { method: "PATCH", path: `/things/${tag}`, body: { maker: tag } },
        { method: "PATCH", path: `/things/b${tag}`, body: { maker: tag } },
      ],
    }),
  "add a file": ({ send, tag }) =>
    send("PUT", `/things/b${tag}/photo`, "bytes", { "content-type": "text/plain" }),
  "replace a file": ({ send, tag }) =>
    send("PUT", `/things/b${tag}/photo`, "other", { "content-type": "text/plain" }),
  "get a file": ({ send, tag }) => send("GET", `/things/b${tag}/photo`),
  "remove a file": ({ send, tag }) => send("DELETE", `/things/b${tag}/photo`),
  get: ({ send, tag }) => send("GET", `/things/${tag}`),
  "get as a reader": ({ readerSend, tag }) => readerSend("GET", `/things/${tag}`),
  expand: ({ send, tag }) => send("GET", `/things/${tag}?expand=maker`),
  "first page": ({ list }) => list("limit=3"),
  "last page": async ({ list }) => list(`limit=3&page=${(await list("limit=3")).pages}`),
  "newest first": ({ list }) => list("limit=3&sort=-createdAt"),
  "last written": ({ list }) => list("limit=10&sort=-updatedAt&total=none"),
  "page of a cursor": async ({ list }) =>
    list(`limit=2&total=none&cursor=${(await list("limit=2&cursor=")).next}`),
  sorted: ({ list }) => list("sort=-price&limit=10&total=none"),
  "sorted, next page": async ({ list }) => {
    const { next } = await list("sort=-price&limit=3&total=none&cursor=");
    return list(`sort=-price&limit=3&total=none&cursor=${next}`);
  },
  "sorted by others": ({ list, tag }) => list(`city=${tag}&sort=title`),
  "sorted by a reference": ({ list, tag }) => list(`city=${tag}&sort=maker.name`),
  filter: ({ list, tag }) => list(`city=${tag}`),
  "filter by a unique field": ({ list, tag }) => list(`sku=sku-${tag}3`),
  "filter by a range": ({ list, tag }) =>
    list(`price[gt]=${priceOf(tag) - 1}&price[lt]=${priceOf(tag) + 2}`),
  "filter by a time": async ({ list }) => {
    const [time] = (await list("sort=-updatedAt&limit=1&total=none&fields=updatedAt")).data;
    return list(`updatedAt=${time?.updatedAt}`);
  },
  "filter by ids": ({ list, tag }) => list(`id[in]=${tag},b${tag}`),
  "filter by times": async ({ list }) => {
    const [time] = (await list("sort=-updatedAt&limit=1&total=none&fields=updatedAt")).data;
    return list(`updatedAt[gte]=${time?.updatedAt}`);
  },
  "filter by several values": ({ list, tag }) => list(`city[in]=${tag},city-${tag}1`),
  "filter by a prefix": ({ list, tag }) => list(`city[startsWith]=city-${tag}`),
  "filter and sort": ({ list, tag }) => list(`city=${tag}&sort=-price`),
  "filter and check": ({ list, tag }) => list(`city=${tag}&note[exists]=false`),
  "one of two filters": ({ list, tag }) =>
    list(`where=${encodeURIComponent(`{"$or":[{"city":"${tag}"},{"sku":"sku-${tag}1"}]}`)}`),
  "filter by a reference": ({ list, tag }) => list(`maker=${tag}`),
  search: ({ list, tag }) => list(`q=t${tag}`),
  "search of a prefix": ({ list, tag }) => list(`q=word${tag}`),
  "search of two words": ({ list, tag }) => list(`q=word${tag}1+more`),
  "search and filter": ({ list, tag }) => list(`q=t${tag}&city=${tag}`),
  aggregate: ({ list, tag }) => list(`city=${tag}&aggregate=count,sum(price)&by=sku`),
  feed: (round) => round.follow("things"),
  "feed as a reader": (round) => round.follow("things", round.readerSend),
  "new token": async (round) => {
    const { tag: subject, send } = round;
    round.token = await send("POST", "/-/tokens", { name: "n", subject, scopes: ["*:*"] });
  },
  "create as an owner": ({ app, token, tag }) => app.as(token.token)("PUT", `/notes/${tag}`, {}),
  "new owner": ({ send, tag }) => send("PATCH", `/notes/${tag}`, { _owner: "reader" }),
  "feed of an owner": (round) => round.follow("notes", round.readerSend),
  "list of an owner": ({ readerSend }) =>
    readerSend("GET", "/notes?limit=1&sort=-createdAt&total=none"),
  "revoke a token": ({ send, token }) => send("DELETE", `/-/tokens/${token.id}`),
  remove: ({ send, tag }) => send("DELETE", `/things/${tag}`),
  "create again": ({ send, tag }) => send("PUT", `/things/${tag}`, thing(`${tag}6`)),
  "remove what is referred to": ({ send, tag }) => send("DELETE", `/makers/${tag}`),
  purge: async ({ database, part, work }) => {
    await database.admin((sql) => expireTraces(sql, part));
    await purge(work, () => false, { removalsMs: 1_000_000_000 });
  },
  "delete a collection": async ({ app, send, tag }) => {
    await send("PUT", `/-/collections/c${tag}`, things);
    await send("PUT", `/c${tag}/1`, thing(tag));
    await send("DELETE", `/-/collections/c${tag}?confirm=c${tag}`);
    await until(async () => !(await hasDeletedParts(app.background)));
  },
  "a step of a deletion": ({ part, attempt }) =>
    attempt(async (sql) => {
      for (const table of partTables)
        await deleteSomeRows(sql, part, table, undefined, undefined, 2);
    }),
  "a step of a copy": ({ part, attempt }) =>
    attempt(async (sql) => {
      for (const table of sourceTableNames)
        await rows(deleteByKeys(sql, part, table, noKeys(sql, shapeOf(table).key)));
    }),
  "used files": ({ work }) =>
    work((connection) => connection.run((sql) => findReferencedFiles(sql, ["file1", "none"]))),
  "files of an owner": ({ work }) =>
    work((connection) => connection.run((sql) => readFileBytes(sql, "reader"))),
  "search what a reader may see": ({ readerSend, tag }) => readerSend("GET", `/things?q=t${tag}`),
};

/** Keys that no row has. */
const noKeys = (sql: Sql, columns: readonly string[]): Keys =>
  Object.fromEntries(
    columns.map((name) => [
      name,
      isTextColumn(name) ? sql`${["none"]}::text[]` : sql`${[-5]}::bigint[]`,
    ]),
  );

/** These look at all rows of some tables, so that they read more. But they read each row as often as before. */
export const allReading: Acts = {
  "filter without an index": ({ list }) => list("note=none"),
  export: ({ send }) => send("GET", "/things", undefined, { accept: ndjsonType }),
  "all tokens": ({ send }) => send("GET", "/-/tokens"),
  "all files": ({ work }) => work((connection) => connection.run((sql) => readFileBytes(sql))),
  "erase outcomes": async ({ send, tag, work }) => {
    const put = { method: "PUT", path: `/things/k${tag}`, body: thing(`${tag}7`) };
    await send("POST", "/-/batch", { operations: [put] }, { "idempotency-key": `batch${tag}` });
    await send("DELETE", `/things/k${tag}`);
    await eraseOutcomes(work, () => false);
  },
  erase: async ({ app, tag }) => {
    const targets = [{ collection: "things", id: `b${tag}` }];
    const erased = await app.erasures.erase(system, { targets, subject: tag, isTrial: false });
    assert.ok("tokens" in erased && erased.tokens === 1, JSON.stringify(erased));
  },
  "feeds from the start": (round) => round.followAgain(),
  backup: ({ part, work }) =>
    work(async (connection) => {
      const snapshot = await connection.run((sql) => readSnapshot(connection, sql));
      for (const steps of [
        ...sourceTableNames.map((table) => snapshot.rows(part, table)),
        ...derivedTableNames.map((table) => snapshot.derived(part, table)),
        ...[snapshot.fileKeys(), snapshot.filesSince(part, 0)],
      ])
        for await (const step of steps) assert.ok(step.length > 0);
    }),
  "new index": (round) => define(round, { unique: ["name"], indexed: ["kind"] }),
  "no index": (round) => define(round, {}),
};

/** Waits until the indexes follow the definition. */
async function define({ send, work }: Round, definition: object): Promise<void> {
  await send("PUT", "/-/collections/makers", definition);
  const builds = () => work((connection) => connection.run((sql) => rows(sql`TABLE builds`)));
  await until(async () => (await builds()).length === 0);
}
