// A collection as NDJSON and CSV: all of it as a stream, or a page.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import * as zlib from "node:zlib";
import { runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { assertProblem, readLinks } from "./expect.ts";
import { beginRawRequest, rawRequest } from "./raw-request.ts";

const ndjson = "application/x-ndjson";
const csv = "text/csv";
const count = 1_234;

let app: TestApp;
let client: Client;

const fill = async (collection: string, rows: readonly unknown[]) => {
  const answer = await rawRequest(app, `/${collection}?atomic=true`, {
    method: "POST",
    headers: { "content-type": ndjson },
    body: rows.map((row) => JSON.stringify(row)).join("\n"),
  });
  assert.equal(answer.status, 200, answer.body);
};

before(async () => {
  app = await startApp();
  client = new Client(app);
  await client.put("/-/collections/people", {
    schema: {
      type: "object",
      properties: {
        name: { type: "string" },
        age: { type: "integer" },
        pin: { type: "string", writeOnly: true },
        address: { type: "object" },
      },
    },
    indexed: ["age"],
    searchable: ["name"],
  });
  const rows = Array.from({ length: count }, (_, n) => ({
    name: `Person ${n}`,
    age: n % 100,
    pin: "1234",
    ...(n % 2 ? {} : { nick: `=${n}` }),
  }));
  await fill("people", rows);
});
after(() => app.stop());

const get = (path: string, accept: string, headers: Readonly<Record<string, string>> = {}) =>
  rawRequest(app, path, { headers: { accept, ...headers } });

interface Person {
  readonly id: string;
  readonly name: string;
  readonly age: number;
}

const linesOf = (text: string): readonly Person[] =>
  text === ""
    ? []
    : text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));

/** A row for each record; the cells here have no commas or quotes but where a test looks itself. */
const rowsOf = (text: string): readonly string[][] => {
  assert.ok(text.endsWith("\r\n"));
  return text
    .slice(0, -2)
    .split("\r\n")
    .map((row) => row.split(","));
};

describe("NDJSON", () => {
  it("contains the whole collection, one representation per line", async () => {
    const { status, headers, body } = await get("/people", ndjson);
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), ndjson);
    assert.equal(headers.get("transfer-encoding"), "chunked");
    assert.match(headers.get("vary") ?? "", /\bAccept\b,/);
    assert.ok(body.endsWith("}\n"));
    const people = linesOf(body);
    assert.deepEqual(
      people.map(({ name }) => name),
      Array.from({ length: count }, (_, n) => `Person ${n}`),
    );
    assert.ok(!body.includes("pin"));
    const [first] = people;
    assert.deepEqual(await client.json(`/people/${first?.id}`), first);
  });

  it("applies filters and sort", async () => {
    const few = linesOf((await get("/people?age[gte]=98&sort=-age", ndjson)).body);
    assert.deepEqual(
      few.map(({ age }) => age),
      [...Array(12).fill(99), ...Array(12).fill(98)],
    );
    const found = linesOf((await get("/people?q=person", ndjson)).body);
    assert.equal(found.length, count);
    const shown = linesOf((await get("/people?fields=age&age=7", ndjson)).body);
    assert.deepEqual(Object.keys(shown[0] ?? {}), ["id", "age"]);
    assert.equal((await get("/people?name=Nobody", ndjson)).body, "");
    assertProblem(await get("/people?nobody=1&name[x]=1", ndjson), "invalid-parameter");
    assertProblem(await get("/none", ndjson), "not-found");
  });

  it("returns one page when asked for, with its headers", async () => {
    const { headers, body } = await get("/people?page=2&limit=10", ndjson);
    assert.deepEqual(
      linesOf(body).map(({ name }) => name),
      Array.from({ length: 10 }, (_, n) => `Person ${n + 10}`),
    );
    assert.equal(headers.get("x-total-count"), `${count}`);
    assert.equal(readLinks(headers.get("link")).next, "/people?page=3&limit=10");
    assert.equal(headers.get("content-length"), `${Buffer.byteLength(body)}`);
    assert.equal(linesOf((await get("/people?limit=3", ndjson)).body).length, 3);
    const walk = await get("/people?cursor=&limit=5", ndjson);
    assert.match(readLinks(walk.headers.get("link")).next ?? "", /cursor=/);
    assert.equal(linesOf(walk.body).length, 5);
  });

  it("contains only the caller's own resources", async () => {
    await client.put("/-/collections/owned", { access: { read: "owner" } });
    const [ann, bob] = [await app.token("owned:*"), await app.token("owned:*")];
    for (const token of [ann, ann, bob]) await new Client(app, token).post("/owned", {});
    const seen = async (token: string) =>
      linesOf((await rawRequest(app, "/owned", { token, headers: { accept: ndjson } })).body)
        .length;
    assert.deepEqual([await seen(ann), await seen(bob), await seen(app.admin)], [2, 1, 3]);
  });

  it("continues at its position while others write", async () => {
    await fill(
      "moving",
      Array.from({ length: 3_000 }, (_, n) => ({ n, text: "x".repeat(500) })),
    );
    const before = linesOf((await get("/moving", ndjson)).body);
    const response = await beginRawRequest(app, "/moving", { headers: { accept: ndjson } });
    response.pause();
    await once(response, "readable");
    // The last one is removed, one is changed and one is added before they can have been sent.
    await client.remove(`/moving/${before.at(-1)?.id}`);
    await client.patch(`/moving/${before.at(-2)?.id}`, { n: -1 });
    await client.post("/moving", { n: 3_000 });
    response.setEncoding("utf8");
    let text = "";
    for await (const piece of response) text += piece;
    const ids = linesOf(text).map(({ id }) => id);
    const known = new Set(ids);
    assert.equal(known.size, ids.length);
    // Whatever was there all the time is there once.
    assert.deepEqual(
      before.slice(0, -1).filter(({ id }) => !known.has(id)),
      [],
    );
    const state = response.headers.etag ?? "";
    assert.equal((await get("/moving", ndjson, { "if-none-match": state })).status, 200);
  });
});

describe("CSV", () => {
  it("has a header row, a row for each resource, and the declared and found columns", async () => {
    const { status, headers, body } = await get("/people", csv);
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "text/csv; charset=utf-8; header=present");
    assert.equal(headers.get("content-disposition"), 'attachment; filename="people.csv"');
    const [head, ...rows] = rowsOf(body);
    assert.deepEqual(head, ["id", "name", "age", "address", "nick", "createdAt", "updatedAt"]);
    assert.equal(rows.length, count);
    assert.deepEqual(rows[2]?.slice(1, 5), ["Person 2", "2", "", "'=2"]);
    assert.deepEqual(rows[3]?.slice(1, 5), ["Person 3", "3", "", ""]);
  });

  it("has the requested columns, in that order", async () => {
    await fill("places", [{ at: { city: "Bern", zip: 3000 }, tags: ["a"] }, { at: "nowhere" }]);
    const rows = rowsOf((await get("/places?fields=at.city,tags,id,createdAt", csv)).body);
    assert.deepEqual(rows[0], ["id", "at.city", "tags", "createdAt"]);
    assert.deepEqual(rows[1]?.slice(1, 3), ["Bern", '"[""a""]"']);
    assert.deepEqual(rows[2]?.slice(1, 3), ["", ""]);
  });

  it("has the columns of nested fields as they were imported, where they are asked for", async () => {
    const rows = "name,customer.email,customer.city\r\nAnn,ann@example.org,Bern\r\nBob,,Rom\r\n";
    const headers = { "content-type": csv };
    await rawRequest(app, "/orders", { method: "POST", headers, body: rows });
    const { body } = await get("/orders?fields=name,customer.email,customer.city&sort=name", csv);
    const withoutId = (row: string): string => row.slice(row.indexOf(",") + 1);
    assert.equal(body.split("\r\n").map(withoutId).join("\r\n"), rows);
  });

  it("of a collection without a schema has the columns of its first resources", async () => {
    await fill("loose", [{ b: 1, a: "x\r\ny" }, { c: 'say "hi", he' }]);
    const { body } = await get("/loose", csv);
    assert.equal(body.split("\r\n")[0], "id,b,a,c,createdAt,updatedAt");
    assert.ok(body.includes(',1,"x\r\ny",,'));
    assert.ok(body.includes(',,,"say ""hi"", he",'));
  });

  it("of an empty result has a header row", async () => {
    await client.put("/-/collections/empty", { schema: { properties: { a: {} } } });
    assert.equal((await get("/empty", csv)).body, "id,a,createdAt,updatedAt\r\n");
    assert.equal((await get("/empty", ndjson)).body, "");
  });

  it("returns one page when asked for", async () => {
    const { headers, body } = await get("/people?page=1&limit=2&sort=-createdAt", csv);
    assert.equal(rowsOf(body).length, 3);
    assert.equal(headers.get("x-total-count"), `${count}`);
  });
});

describe("Accept", () => {
  const choices: readonly (readonly [accept: string, type: string | null])[] = [
    ["*/*", "application/json"],
    ["application/json, text/csv", "application/json"],
    ["text/csv, application/json;q=0.9", "text/csv"],
    ["application/json;q=0.5, application/x-ndjson", ndjson],
    ["application/jsonl", "application/jsonl"],
    ["application/ndjson, */*;q=0.1", "application/ndjson"],
    ["text/*", "text/csv"],
    ["text/csv;charset=utf-8", "text/csv"],
    ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json"],
    ["text/csv;q=0, application/json;q=0, */*;q=0.1", ndjson],
    ["text/html", null],
    ["application/xml", null],
  ];
  for (const [accept, type] of choices) {
    it(`"${accept}" gets ${type ?? "406 with the available types"}`, async () => {
      const answer = await get("/people", accept);
      if (type === null) {
        assert.match(assertProblem(answer, "not-acceptable").detail, /text\/csv/);
      } else {
        assert.equal(answer.status, 200);
        assert.equal(answer.headers.get("content-type")?.split(";", 1)[0], type);
        assert.match(answer.headers.get("vary") ?? "", /\bAccept\b/);
      }
    });
  }

  it("of these formats is rejected for one resource and for feeds", async () => {
    const [first] = linesOf((await get("/people?limit=1", ndjson)).body);
    assertProblem(await get(`/people/${first?.id}`, csv), "not-acceptable");
    assertProblem(await get("/people?since=0", ndjson), "not-acceptable");
  });
});

describe("the ETag", () => {
  it("is different for each format, and changes with every write", async () => {
    const asked = ["/people", "/people?limit=2"];
    const tagOf = async (path: string, accept: string) =>
      (await get(path, accept)).headers.get("etag") ?? "";
    const tags = await Promise.all(
      ["application/json", ndjson, csv].map((type) => tagOf("/people", type)),
    );
    assert.equal(new Set(tags).size, 3);
    for (const path of asked) {
      for (const type of [ndjson, csv]) {
        const etag = await tagOf(path, type);
        const again = await get(path, type, { "if-none-match": etag });
        assert.deepEqual([again.status, again.headers.get("etag"), again.body], [304, etag, ""]);
        for (const other of tags.filter((tag) => tag !== etag)) {
          assert.equal((await get(path, type, { "if-none-match": other })).status, 200);
        }
      }
    }
    const [, lines = ""] = tags;
    await client.post("/people", { name: "New" });
    assert.equal((await get("/people", ndjson, { "if-none-match": lines })).status, 200);
    assertProblem(await get("/people", ndjson, { "if-match": lines }), "precondition-failed");
  });
});

describe("a stream", () => {
  const decoders = {
    gzip: zlib.gunzipSync,
    br: zlib.brotliDecompressSync,
    zstd: zlib.zstdDecompressSync,
  } as const;

  it("is encoded while it is sent, with an ETag of its own", async () => {
    for (const type of [ndjson, csv]) {
      const plain = await get("/people", type);
      for (const [coding, decode] of Object.entries(decoders)) {
        const answer = await get("/people", type, { "accept-encoding": coding });
        assert.equal(answer.headers.get("content-encoding"), coding);
        assert.equal(decode(answer.bytes).toString(), plain.body);
        const etag = answer.headers.get("etag") ?? "";
        assert.notEqual(etag, plain.headers.get("etag"));
        const again = await get("/people", type, {
          "accept-encoding": coding,
          "if-none-match": etag,
        });
        assert.deepEqual([again.status, again.headers.get("etag")], [304, etag]);
      }
    }
  });

  it("to HEAD has the headers of GET, and no body", async () => {
    const head = await rawRequest(app, "/people", { method: "HEAD", headers: { accept: csv } });
    const { headers } = await get("/people", csv);
    for (const name of ["etag", "content-type", "content-disposition", "vary", "last-modified"]) {
      assert.equal(head.headers.get(name), headers.get(name), name);
    }
    assert.equal(head.headers.get("content-length"), null);
    assert.equal(head.bytes.length, 0);
  });

  it("that is not read to the end does no harm", async () => {
    const lines = runs(1_000, 2_000);
    await fill(
      "wide",
      Array.from({ length: lines }, () => ({ text: "x".repeat(5_000) })),
    );
    for (let round = 0; round < 5; round++) {
      const response = await beginRawRequest(app, "/wide", { headers: { accept: ndjson } });
      await once(response, "readable");
      response.destroy();
    }
    assert.equal(linesOf((await get("/wide", ndjson)).body).length, lines);
  });
});

describe("the address of lines", () => {
  const lines = "/-/lines/people?age=7";

  it("exports without JSON", async () => {
    const same = await get("/people?age=7", ndjson);
    for (const accept of [ndjson, "*/*"]) {
      const { headers, body } = await get(lines, accept);
      assert.equal(headers.get("content-type"), ndjson);
      assert.equal(body, same.body);
    }
    const table = await get(lines, csv);
    assert.equal(table.body, (await get("/people?age=7", csv)).body);
    assertProblem(await client.get(lines, { accept: "application/json" }), "not-acceptable");
    assertProblem(await client.get("/-/lines/people?since=0"), "invalid-parameter");
  });

  it("imports NDJSON and CSV alone", async () => {
    const send = (type: string, body: string) =>
      rawRequest(app, "/-/lines/sent?atomic=true", {
        method: "POST",
        headers: { "content-type": type },
        body,
      });
    await client.put("/-/collections/sent", {});
    assert.match((await send(ndjson, '{"a":1}\n')).body, /"location":"\/sent\//);
    assert.equal((await send(csv, "a\n2\n")).status, 200);
    assert.equal(await app.total("sent"), 2);
    const { status, headers } = await send("application/json", "{}");
    assert.deepEqual([status, headers.get("accept-post")], [415, "application/x-ndjson, text/csv"]);
    const options = await rawRequest(app, "/-/lines/sent", { method: "OPTIONS", headers: {} });
    const fields = ["allow", "accept-post", "accept-patch"].map((name) =>
      options.headers.get(name),
    );
    const types = "application/x-ndjson, text/csv";
    assert.deepEqual(fields, ["GET, HEAD, POST, OPTIONS", types, null]);
  });
});
