// Pages of large resources: rendered and sent one by one, with the same content and validators as others.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";

const count = 12;
const chars = 100_000;
const json = { "content-type": "application/json" };

interface Page {
  readonly data: readonly { readonly n: number; readonly text: string }[];
  readonly total: number;
}

for (const store of storesHere(undefined, [undefined, "postgres"]))
  describe(`a page of large resources on ${store ?? "the embedded engine"}`, () => {
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

    for (const query of ["limit=20", "sort=n&limit=20&fields=*", "n[gte]=0&limit=20"])
      it(`?${query} as NDJSON and CSV`, async () => {
        const expected = Array.from({ length: count }, (_, n) => [n, `${n}é`.repeat(chars / 3)]);
        const ndjson = await read(`/large?${query}`, { accept: "application/x-ndjson" });
        const lines = (await ndjson.text()).split("\n");
        assert.equal(lines.pop(), "");
        const found = lines.map((line) => JSON.parse(line) as Page["data"][number]);
        assert.ok(isSame(found.map(({ n, text }) => [n, text])));
        const csv = await read(`/large?${query}`, { accept: "text/csv" });
        assert.equal(csv.headers.get("x-total-count"), `${count}`);
        const [head = "", ...rows] = (await csv.text()).trimEnd().split("\r\n");
        const columns = head.split(",");
        const at = (row: string, name: string) => row.split(",")[columns.indexOf(name)];
        assert.ok(isSame(rows.map((row) => [Number(at(row, "n")), at(row, "text")])));
        // The bytes are not in the message of a failure.
        function isSame(texts: unknown): boolean {
          return JSON.stringify(texts) === JSON.stringify(expected);
        }
      });

    it("with what it refers to, as JSON and as NDJSON", async () => {
      const references = { large: { collection: "large" } };
      await define("referring", { references });
      const { data } = (await (await read("/large?limit=2")).json()) as {
        readonly data: readonly { readonly id: string }[];
      };
      const text = '"_expanded" é'.repeat(20_000);
      const sent = data.map(({ id }, n) => ({
        large: id,
        text: n === 0 ? text : "é".repeat(chars),
      }));
      for (const each of sent) {
        const init = { method: "POST", headers: json, body: JSON.stringify(each) };
        assert.equal((await app.request("/referring", init)).status, 201);
      }
      const path = "/referring?expand=large&limit=2";
      const response = await read(path);
      const etag = response.headers.get("etag") ?? "";
      assert.equal(response.headers.get("content-length"), null);
      const page = (await response.json()) as { readonly data: readonly object[] };
      const lines = await (await read(path, { accept: "application/x-ndjson" })).text();
      for (const found of [
        page.data,
        lines
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line)),
      ]) {
        const shown = found.map((each) => {
          const { large, text, _expanded } = each as Record<string, unknown>;
          return { large, text, _expanded };
        });
        const expected = sent.map((each, n) => ({ ...each, _expanded: { large: data[n] } }));
        assert.ok(JSON.stringify(shown) === JSON.stringify(expected));
      }
      assert.equal((await read(path, { "if-none-match": etag })).status, 304);
      const patch = {
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
      };
      await app.request(`/large/${data[0]?.id}`, { ...patch, body: '{"other":1}' });
      const changed = await read(path, { "if-none-match": etag });
      assert.equal(changed.status, 200);
      assert.equal((await changed.text()).split('"other":1').length, 2);
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
