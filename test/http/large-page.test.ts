// Pages of large resources: rendered and sent one by one, with the same content and validators as others.

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { itOn } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";

const count = 12;
const chars = 100_000;
const json = { "content-type": "application/json" };

interface Page {
  readonly data: readonly { readonly n: number; readonly text: string }[];
  readonly total: number;
}

for (const store of [undefined, "postgres"])
  describe(`a page of large resources on ${store ?? "the embedded engine"}`, () => {
    const it = itOn(store);
    let app: TestApp;
    let ada: string;

    before(async () => {
      app = await startApp({ store });
      ada = await app.token("own:*");
      await define("large", { schema: { properties: { n: { type: "integer" } } }, indexed: ["n"] });
      await define("own", { access: { read: "owner" } });
      for (let n = 0; n < count; n++)
        for (const [path, token] of [
          ["/large", app.admin],
          ["/own", ada],
        ] as const)
          assert.equal((await post(path, token, n)).status, 201);
    });
    after(() => app.stop());

    const define = (name: string, definition: object) =>
      app.request(`/-/collections/${name}`, {
        method: "PUT",
        headers: json,
        body: JSON.stringify(definition),
      });
    const post = async (path: string, token: string, n: number) => {
      const body = JSON.stringify({ n, text: `${n}é`.repeat(chars / 3) });
      const headers = { ...json, authorization: `Bearer ${token}` };
      const response = await fetch(app.url + path, { method: "POST", headers, body });
      await response.arrayBuffer();
      return response;
    };
    const read = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
      fetch(app.url + path, {
        ...init,
        headers: { authorization: `Bearer ${app.admin}`, ...headers },
      });
    const assertWhole = async (response: Response) => {
      assert.equal(response.status, 200);
      const { data, total } = (await response.json()) as Page;
      assert.equal(total, count);
      assert.deepEqual(
        data.map(({ n }) => n),
        Array.from({ length: count }, (_, n) => n),
      );
      for (const { n, text } of data) assert.ok(text === `${n}é`.repeat(chars / 3));
    };

    for (const query of ["", "sort=n&", "n[gte]=0&"])
      for (const coding of ["identity", "gzip"])
        it(`?${query}limit=20 with ${coding}`, async () => {
          const response = await read(`/large?${query}limit=20`, { "accept-encoding": coding });
          assert.equal(response.headers.get("x-total-count"), `${count}`);
          assert.equal(response.headers.get("content-length"), null);
          await assertWhole(response);
        });

    it("by QUERY", async () => {
      const init = { method: "QUERY", body: '{"limit":20}' };
      await assertWhole(await read("/large", json, init));
    });

    it("shows no hidden field, neither in a page nor in an export", async () => {
      const hidden = { type: "string", writeOnly: true };
      await define("hiding", { schema: { properties: { pin: hidden } } });
      const text = "é".repeat(400_000);
      const body = JSON.stringify({ pin: "never shown", text });
      for (let n = 0; n < 2; n++)
        assert.equal(
          (await app.request("/hiding", { method: "POST", headers: json, body })).status,
          201,
        );
      for (const accept of ["application/json", "application/x-ndjson"]) {
        const path = accept === "application/json" ? "/hiding?limit=2" : "/hiding";
        const shown = await (await read(path, { accept })).text();
        assert.equal(shown.split(text).length, 3);
        assert.ok(!shown.includes("never shown"));
      }
    });

    it("is the same with `fields` and in an export as one by one", async () => {
      const ndjson = { accept: "application/x-ndjson" };
      const lines = (await (await read("/large", ndjson)).text()).trimEnd().split("\n");
      const ids = lines.map((line) => (JSON.parse(line) as { readonly id: string }).id);
      const found = await (await read("/large?limit=20&fields=*")).json();
      assert.equal(ids.length, count);
      assert.deepEqual(
        (found as Page).data,
        lines.map((line) => JSON.parse(line)),
      );
      for (const [at, id] of ids.entries())
        assert.ok((await (await read(`/large/${id}`)).text()) === lines[at]);
    });

    it("HEAD has the same header fields and no body", async () => {
      const head = await read("/large?limit=20", {}, { method: "HEAD" });
      assert.equal(head.status, 200);
      assert.equal(await head.text(), "");
      const got = await read("/large?limit=20");
      await got.arrayBuffer();
      assert.equal(head.headers.get("etag"), got.headers.get("etag"));
    });

    it("is 304 while nothing changes, also for an owner", async () => {
      for (const [path, token] of [
        ["/large", app.admin],
        ["/own", ada],
      ] as const) {
        const authorization = `Bearer ${token}`;
        const first = await read(`${path}?limit=20`, { authorization });
        const etag = first.headers.get("etag") ?? "";
        await assertWhole(first);
        assert.notEqual(etag, "");
        const headers = { authorization, "if-none-match": etag };
        assert.equal((await read(`${path}?limit=20`, headers)).status, 304);
        const other = await read(`${path}?limit=19`, { authorization });
        await other.arrayBuffer();
        if (path === "/own") assert.notEqual(other.headers.get("etag"), etag);
      }
    });
  });
