// Long reads on Postgres: how much of one the event loop does in a turn, in which other requests have to wait.
// @process own

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import type { Read } from "../../src/store/core/filter-reads.ts";
import { describeOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";

const count = 2_400;
const ndjson = "application/x-ndjson";

const text = { type: "string" };
const numbers = { n: { type: "integer" }, a: { type: "integer" }, b: { type: "integer" } };

/** What a turn did: values that the driver decoded, and JSON texts that were parsed. */
interface Work {
  values: number;
  texts: number;
  bytes: number;
}

/** The limits of a long read: 250 rows are read at once, and about 100 are checked in a turn. */
const most: Work = { values: 250 * 13 + 200, texts: 300, bytes: 256 * 1024 };
/** 100 rows of an export are written in a turn; CSV reads each text of a row. An ordered page has 500. */
const mostOfExport: Work = { ...most, values: 501 * 13 + 200, texts: 700 };
/** A page, or the resources with a rare word, come from one statement and are short by their size. */
const mostOfPage: Work = { values: 1_001 * 13 + 200, texts: 1_100, bytes: 1024 * 1024 };

/** What each kind of read is needed for. A new kind needs a request here. */
const queries: Readonly<Record<Read["kind"], string>> = {
  count: "a[lt]=2000&b[lt]=1000",
  seqs: "a[lt]=1000&b[lt]=1500&total=none&page=20",
  ranks: "q=w*&a[lt]=2000",
  scan: "sort=a&plain[icontains]=é&total=none",
  next: "plain[icontains]=é",
  test: "plain=nothing",
  at: "sort=plain",
  related: "sort=team.name",
  ids: "team.name=A",
  turn: "sort=plain&page=100",
};

const others: Readonly<Record<string, string>> = {
  "a search": "q=w*",
  "a search in an order": "q=w*&sort=-plain",
  "a sum": "aggregate=count,sum(n)",
  "a sum of groups": "aggregate=count,sum(n)&by=plain",
  "an aggregate of what only the server can judge": "aggregate=sum(n)&plain[icontains]=é",
};
const exports: Readonly<Record<string, readonly [query: string, accept: string]>> = {
  "an export as NDJSON": ["", ndjson],
  "an export as CSV": ["", "text/csv"],
  "an export in an order": ["sort=-a", ndjson],
  "an export of what matches": ["plain[icontains]=é", ndjson],
};
const pages = {
  "a page": "limit=1000",
  "a deep page": "limit=1000&page=2&sort=a",
  "what each refers to": "expand=team&limit=1000",
  "a search of several words, of which one is rare": "q=w1* w2*",
  "a feed": "since=0&limit=1000",
  "a feed with a filter": "since=0&limit=1000&plain=nothing",
};

describeOn("bun", "a turn of a long read on Postgres", () => {
  let app: TestApp;

  before(async () => {
    app = await startApp({ store: "postgres" });
    await define("teams", { schema: { properties: { name: text } } });
    for (const id of ["1", "2"]) await put(`/teams/${id}`, { name: id === "1" ? "A" : "B" });
    await define("members", {
      schema: { properties: { ...numbers, plain: text, text, team: text } },
      ...{ indexed: ["a", "b"], searchable: ["text"] },
      references: { team: { collection: "teams" } },
    });
    const lines = Array.from({ length: count }, (_, n) => JSON.stringify(memberOf(n)));
    const headers = { "content-type": ndjson, prefer: "return=minimal" };
    const body = lines.join("\n");
    const imported = await app.request("/members", { method: "POST", headers, body });
    assert.match(await imported.text(), new RegExp(`"created":${count}`));
  });
  after(() => app.stop());

  const memberOf = (n: number) => ({
    ...{ n, a: (n * 7) % count, b: (n * 11) % count, plain: `Té ${(n * 13) % 97}` },
    ...{ text: `w${n % 7} w${n % 11} others`, team: `${1 + (n % 2)}` },
  });
  const json = { "content-type": "application/json" };
  const put = async (path: string, value: object) => {
    const init = { method: "PUT", headers: json, body: JSON.stringify(value) };
    const response = await app.request(path, init);
    assert.ok(response.ok, await response.text());
  };
  const define = (name: string, definition: object) => put(`/-/collections/${name}`, definition);

  const assertShort = async (query: string, limits: Work, accept = "application/json") => {
    const headers = { authorization: `Bearer ${app.admin}`, accept };
    const request = new Request(`${app.url}/members?${query}`, { headers });
    const { largest, whole } = await workOf(async () => {
      const response = await app.direct(request);
      if (response.status !== 200) assert.fail(await response.text());
      for await (const _ of response.body ?? []);
    });
    assert.ok(whole.values > 0, "no row was read");
    for (const unit of ["values", "texts", "bytes"] as const)
      assert.ok(largest[unit] <= limits[unit], `${largest[unit]} ${unit} in a turn`);
  };

  for (const [kind, query] of Object.entries(queries))
    it(`${kind}: ?${query}`, () => assertShort(query, most));
  for (const [title, query] of Object.entries(others))
    it(`${title}: ?${query}`, () => assertShort(query, most));
  for (const [title, [query, accept]] of Object.entries(exports))
    it(`${title}: ?${query}`, () => assertShort(query, mostOfExport, accept));
  for (const [title, query] of Object.entries(pages))
    it(`${title}: ?${query}`, () => assertShort(query, mostOfPage));
});

/** Counts while `work` runs. The driver decodes each value with `Buffer.toString`. */
async function workOf(work: () => Promise<void>): Promise<{ largest: Work; whole: Work }> {
  const none: Work = { values: 0, texts: 0, bytes: 0 };
  const [turn, largest, whole] = [{ ...none }, { ...none }, { ...none }];
  const decode = Buffer.prototype.toString;
  const { parse } = JSON;
  const endTurn = () => {
    for (const unit of ["values", "texts", "bytes"] as const) {
      largest[unit] = Math.max(largest[unit], turn[unit]);
      whole[unit] += turn[unit];
      turn[unit] = 0;
    }
  };
  Buffer.prototype.toString = function (
    this: Buffer,
    encoding?: BufferEncoding,
    start = 0,
    end = this.length,
  ) {
    turn.values++;
    turn.bytes += end - start;
    return decode.call(this, encoding, start, end);
  };
  JSON.parse = (text, reviver) => {
    turn.texts++;
    turn.bytes += text.length;
    return parse(text, reviver);
  };
  let isOver = false;
  const next = () => {
    endTurn();
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  try {
    await work();
  } finally {
    isOver = true;
    endTurn();
    Buffer.prototype.toString = decode;
    JSON.parse = parse;
  }
  return { largest, whole };
}
