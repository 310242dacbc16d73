// Pages are limited in bytes: large resources lead to shorter pages, or to an error that says what to do.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { pageLimits } from "../../src/model/query/list-request.ts";
import { lowerLimit } from "../lower-limit.ts";
import { isLong } from "../seeds.ts";
import { itLong, storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { answerOf, assertProblem } from "./expect.ts";

const mebibyte = 1024 * 1024;
const pageBytes = lowerLimit(pageLimits, "maxBytes", 8 * mebibyte, 32 * mebibyte);
interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly next: string | null;
}

/** Pages of many MiB take long, so that `npm test` reads some of them. */
const some = (few: readonly string[], more: readonly string[]) =>
  isLong ? [...few, ...more] : few;

const json = { "content-type": "application/json" };

for (const store of storesHere("postgres", [undefined, "postgres"]))
  describe(`pages of large resources on ${store ?? "the embedded engine"}`, () => {
    let app: TestApp;
    let client: Client;
    let ids: readonly string[];
    before(async () => {
      app = await startApp({ store, maxBodyBytes: 5 * mebibyte });
      client = new Client(app);
      await client.put("/-/collections/large", {
        schema: {
          properties: { n: { type: "integer" }, g: { type: "string" }, w: { type: "string" } },
        },
        indexed: ["n"],
        searchable: ["w"],
        access: {
          read: [
            { name: "numbers", to: "everyone", fields: ["n"] },
            {
              name: "most",
              to: { scope: "large:read" },
              where: { n: { lt: 30 } },
              fields: ["n", "g"],
            },
          ],
        },
      });
      const made: string[] = [];
      for (let n = 0; n < 36; n++) {
        const body = JSON.stringify({
          n,
          g: "all",
          w: "word",
          t: "x".repeat(pageBytes / 32 - 200),
        });
        // Without the check against the document, which would read every body.
        const response = await fetch(`${app.url}/large/r${10 + n}`, {
          method: "PUT",
          headers: { ...json, authorization: `Bearer ${app.admin}` },
          body,
        });
        assert.equal(response.status, 201, await response.text());
        made.push(`r${10 + n}`);
      }
      ids = made;
    });
    after(() => app.stop());

    const read = async (path: string, accepted: Record<string, string> = {}) => {
      // Compressing such pages takes longer than reading them.
      const headers = { ...accepted, "accept-encoding": "identity" };
      const response = await fetch(app.url + path, {
        headers: { ...headers, authorization: `Bearer ${app.admin}` },
      });
      return answerOf(response);
    };

    for (const query of some(
      ["", "sort=n&", "n[gte]=0&", "q=word&"],
      ["sort=-createdAt&", "g=all&"],
    )) {
      it(`?${query}limit=36 is 400 and names a limit that fits`, async () => {
        const rejected = await read(`/large?${query}limit=36`);
        const problem = assertProblem(rejected, "invalid-parameter");
        assert.match(problem.detail, new RegExp(`larger than ${pageBytes / mebibyte} MiB`));
        assert.deepEqual(pointersOf(problem), ["limit"]);
        const [, fits] = /^use at most (\d+)/.exec(problem.errors?.[0]?.detail ?? "") ?? [];
        assert.equal(fits, "32");
      });
    }

    for (const query of some(
      ["", "q=word&total=none&"],
      [
        "q=word&",
        "sort=n&",
        "sort=n&total=none&",
        "n[gte]=0&",
        "g=all&",
        "q=word&g=all&total=none&",
      ],
    ))
      it(`?${query}limit=32, which fits, is accepted`, async () => {
        const { status, headers, body } = await read(`/large?${query}limit=32`);
        assert.equal(status, 200, body.slice(0, 300));
        assert.equal((JSON.parse(body) as Page).data.length, 32);
        assert.match(headers.get("link") ?? "", /rel="next"/);
        const rest = await read(`/large?${query}limit=32&page=2`);
        assert.equal((JSON.parse(rest.body) as Page).data.length, 4);
        assert.doesNotMatch(rest.headers.get("link") ?? "", /rel="next"/);
      });

    it("a QUERY names the limit in its body", async () => {
      const response = await fetch(`${app.url}/large`, {
        method: "QUERY",
        headers: { ...json, authorization: `Bearer ${app.admin}` },
        body: '{"limit":100}',
      });
      assert.deepEqual(pointersOf(assertProblem(await answerOf(response), "invalid-body")), [
        "/limit",
      ]);
    });

    for (const query of some(["", "g=all&sort=n&"], ["sort=-n&", "n[gte]=0&"])) {
      it(`reading by cursor (${query}) returns shorter pages, and everything`, async () => {
        const seen: string[] = [];
        const lengths: number[] = [];
        let cursor: string | null = "";
        while (cursor !== null) {
          const { status, body } = await read(`/large?${query}cursor=${cursor}&limit=1000`);
          assert.equal(status, 200, body.slice(0, 300));
          const { data, next } = JSON.parse(body) as Page;
          lengths.push(data.length);
          seen.push(...data.map(({ id }) => id));
          cursor = next;
        }
        assert.deepEqual(lengths, [32, 4]);
        assert.deepEqual(seen.toSorted(), ids);
      });
    }

    it("a feed has shorter pages, and everything", async () => {
      const seen: string[] = [];
      let since = "0";
      for (let isMore = true; isMore; ) {
        const { status, body } = await read(`/large?since=${since}&limit=1000`);
        assert.equal(status, 200, body.slice(0, 300));
        const { changes, next, more } = JSON.parse(body);
        seen.push(...(changes as { resource: { id: string } }[]).map((one) => one.resource.id));
        assert.ok(changes.length <= 32);
        since = next;
        isMore = more;
      }
      assert.deepEqual(seen, ids);
    });

    itLong("only what is shown counts for a caller from whom fields are hidden", async () => {
      const anyone = new Client(app, null);
      const reader = new Client(app, await app.token("large:read"));
      for (const query of some(["", "sort=-n&"], ["n[gte]=0&", "cursor=&", "cursor=&sort=n&"]))
        for (const caller of [anyone, reader]) {
          const { status, body } = await caller.get(`/large?${query}limit=1000`);
          assert.equal(status, 200, body.slice(0, 300));
          const { data, next = null } = JSON.parse(body) as Page;
          assert.deepEqual(data.map(({ id }) => id).toSorted(), ids, query);
          assert.equal(next, null);
          const fields = new Set(data.flatMap((each) => Object.keys(each)));
          assert.deepEqual(
            [...fields].toSorted(),
            caller === reader ? ["createdAt", "g", "id", "n"] : ["createdAt", "id", "n"],
          );
        }
      const { changes, more } = JSON.parse((await anyone.get("/large?since=0&limit=1000")).body);
      assert.deepEqual([changes.length, more], [ids.length, false]);
      const first = JSON.parse((await anyone.get("/large?cursor=&limit=34")).body) as Page;
      const rest = await anyone.get(`/large?cursor=${first.next}&limit=34`);
      assert.deepEqual([first.data.length, JSON.parse(rest.body).data.length], [34, 2]);
    });

    it("hidden bytes change neither the ETag of a page nor its header fields", async () => {
      await client.put("/-/collections/shorts", {
        access: { read: [{ name: "titles", to: "everyone", where: { out: true }, fields: ["t"] }] },
      });
      const anyone = new Client(app, null);
      const look = async (path: string) => {
        const { headers, body } = await anyone.get(path);
        const fields = [...headers].filter(([name]) => !["date", "x-request-id"].includes(name));
        return { fields, body };
      };
      await client.put("/shorts/1", { out: true, t: "a", hidden: "" });
      const before = [await look("/shorts"), await look("/shorts/1")];
      await client.put("/shorts/1", { out: true, t: "a", hidden: "x".repeat(mebibyte) });
      assert.deepEqual([await look("/shorts"), await look("/shorts/1")], before);
    });

    it("hidden bytes change neither the ETag of an export nor its columns", async () => {
      const open = { name: "titles", to: "everyone", fields: ["t", "late", "to"] };
      await client.put("/-/collections/targets", { access: { read: [open] } });
      await client.put("/-/collections/sources", {
        access: { read: [open] },
        references: { to: { collection: "targets" } },
      });
      const fill = async (ofSources: string, ofTargets: string) => {
        for (const id of ["1", "2", "3"]) {
          await client.put(`/targets/${id}`, { t: "a", hidden: ofTargets });
          const late = id === "3" ? { late: 1 } : {};
          await client.put(`/sources/${id}`, { t: "a", to: id, ...late, hidden: ofSources });
        }
      };
      const anyone = new Client(app, null);
      const exported = async (path: string, accept: string) => {
        const { status, headers, body } = await anyone.get(path, { accept });
        return { status, etag: headers.get("etag"), body };
      };
      const look = () =>
        Promise.all([
          exported("/sources", "text/csv"),
          exported("/sources?sort=-t", "text/csv"),
          exported("/sources", "application/x-ndjson"),
          exported("/sources?expand=to", "application/x-ndjson"),
        ]);
      await fill("", "");
      const before = await look();
      for (const { etag } of before) assert.notEqual(etag, null);
      await fill("x".repeat(mebibyte / 4), "");
      assert.deepEqual(await look(), before);
      await fill("", "x".repeat(mebibyte / 2));
      assert.deepEqual(await look(), before);
    });

    it("what is shown ends the first part of an export", async () => {
      const open = { name: "titles", to: "everyone", fields: ["t", "late"] };
      await client.put("/-/collections/parts", { access: { read: [open] } });
      const fill = async (hidden: string) => {
        for (let n = 1; n <= 9; n++)
          await client.put(`/parts/${n}`, {
            t: "x".repeat(mebibyte / 16),
            ...(n === 9 ? { late: 1 } : {}),
            hidden,
          });
      };
      const anyone = new Client(app, null);
      const look = async () => {
        const { headers, body } = await anyone.get("/parts", { accept: "text/csv" });
        const [columns, ...rows] = body.trimEnd().split("\r\n");
        return { etag: headers.get("etag"), columns, ids: rows.map((row) => row.slice(0, 3)) };
      };
      await fill("");
      const before = await look();
      assert.equal(before.etag, null);
      assert.equal(before.columns, "id,t,createdAt");
      assert.equal(before.ids.length, 9);
      await fill("x".repeat(mebibyte / 8));
      assert.deepEqual(await look(), before);
    });

    it("hidden bytes of what is expanded do not count for the size of a page", async () => {
      const open = { name: "titles", to: "everyone", fields: ["t"] };
      await client.put("/-/collections/heavy", { access: { read: [open] } });
      await client.put("/-/collections/light", {
        access: { read: "public" },
        references: { "to[]": { collection: "heavy" } },
      });
      const targets = Array.from({ length: 9 }, (_, n) => `${n}`);
      const hidden = "x".repeat(pageBytes / 8);
      for (const id of targets) await client.put(`/heavy/${id}`, { t: id, hidden });
      await client.put("/light/1", { to: targets });
      const anyone = new Client(app, null);
      for (const path of ["/light?expand=to[]", "/light/1?expand=to[]"]) {
        const { status, body } = await anyone.get(path);
        assert.equal(status, 200, body.slice(0, 300));
        assert.match(body, /"id":"8","t":"8"/);
      }
    });

    it("an export contains everything", async () => {
      const { body } = await read("/large", { accept: "application/x-ndjson" });
      const seen = body.trimEnd().split("\n");
      assert.deepEqual(
        seen.map((line) => JSON.parse(line).id),
        ids,
      );
    });

    it("one resource is a page, however large", async () => {
      assert.equal((await read("/large?limit=1")).status, 200);
    });
  });
