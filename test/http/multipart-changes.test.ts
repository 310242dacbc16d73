// PUT and PATCH of a resource with a form: a JSON part `data` or texts, beside files.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ProblemKind } from "../../src/model/problem.ts";
import { storesHere } from "../short-run.ts";
import type { TestApp } from "./app.ts";
import { type Client, pointersOf } from "./client.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";
import { type FilesApp, startFilesApp } from "./files-app.ts";
import {
  file,
  filesIn,
  form,
  hashOf,
  type Piece,
  rejectsWithoutChange,
  type Shown,
  text,
} from "./multipart.ts";

type Fields = Readonly<Record<string, string>>;
type Seen = Readonly<Record<string, unknown>> & { readonly id: string };

const data = (value: unknown): Piece => ({
  head: ['Content-Disposition: form-data; name="data"', "Content-Type: application/json"],
  bytes: JSON.stringify(value),
});

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`a form that changes a resource, on ${store}`, () => {
    let running: FilesApp;
    let app: TestApp;
    let client: Client;
    let files: string;
    let define: FilesApp["define"];
    before(async () => {
      running = await startFilesApp(store === "postgres" ? { store } : {});
      ({ app, client, files, define } = running);
    });
    after(() => running.stop());

    const send = (
      method: string,
      path: string,
      pieces: readonly Piece[],
      extra: Fields = {},
      token: string = app.admin,
    ): Promise<Answer> => {
      const { headers, body } = form(pieces);
      return answerOf(
        app.request(path, { method, headers: { ...headers, ...extra }, body, token }),
      );
    };

    async function done(status: number, answer: Promise<Answer>): Promise<Seen> {
      const { status: sent, body } = await answer;
      assert.equal(sent, status, body);
      return JSON.parse(body);
    }

    const made = (pieces: readonly Piece[], path = "/people") =>
      done(201, send("POST", path, pieces));
    const bytesAt = async (path: string): Promise<string> => (await client.get(path)).body;
    const hashIn = (seen: Seen, member: string) => (seen[member] as Shown | undefined)?.sha256;

    const rejects = (kind: ProblemKind, ask: () => Promise<Answer>, collection = "people") =>
      rejectsWithoutChange(client, { kind, collection, files }, ask);

    describe("the part data", () => {
      it("has all fields, with a POST, too", async () => {
        const sent = data({ name: "Ada", age: 36 });
        const seen = await made([sent, file("photo", "a", "1")]);
        assert.deepEqual([seen.name, seen.age, hashIn(seen, "photo")], ["Ada", 36, hashOf("1")]);
      });

      it("may be a Blob, which browsers call blob", async () => {
        const body = new FormData();
        body.append("data", new Blob(['{"name":"Ada"}'], { type: "application/json" }));
        body.append("photo", new Blob(["1"]), "a.txt");
        const seen = await done(201, answerOf(app.request("/people", { method: "POST", body })));
        assert.deepEqual([seen.name, seen.data], ["Ada", undefined]);
      });

      it("is a field when it is no JSON object, or the schema declares it", async () => {
        assert.equal((await made([text("data", "{}")])).data, "{}");
        assert.deepEqual((await made([{ ...data(null), bytes: "[1]" }])).data, [1]);
        await define("declared", { schema: { properties: { data: { type: "object" } } } });
        assert.deepEqual((await made([data({ a: 1 })], "/declared")).data, { a: 1 });
      });

      it("has no other fields beside it, and is valid JSON", async () => {
        const both = await rejects("invalid-body", () =>
          send("POST", "/people", [data({}), text("name", "Ada"), file("photo", "a", "1")]),
        );
        assert.deepEqual(pointersOf(both), ["/name"]);
        for (const bytes of ['{"a":1', '{"a":1,"a":2}'])
          await rejects("invalid-body", () =>
            send("POST", "/people", [{ ...data(null), bytes }, file("photo", "a", "1")]),
          );
      });
    });

    describe("PATCH", () => {
      it("merges data, replaces the files that it sends, and keeps the others", async () => {
        const sent = [text("name", "Ada"), text("old", "1")];
        const { id } = await made([...sent, file("photo", "a", "1"), file("cv", "b", "2")]);
        const count = (await filesIn(files)).length;
        const path = `/people/${id}`;
        const patch = [data({ age: 36, old: null }), file("photo", "c", "3")];
        const seen = await done(200, send("PATCH", path, patch));
        assert.deepEqual([seen.name, seen.age, seen.old], ["Ada", 36, undefined]);
        assert.equal(hashIn(seen, "cv"), hashOf("2"));
        assert.equal(await bytesAt(`${path}/photo`), "3");
        assert.equal((await filesIn(files)).length, count);
      });

      it("takes texts, with the types of the schema", async () => {
        await define("typed", { schema: { properties: { age: { type: "integer" } } } });
        const { id } = await made([text("age", "1"), text("name", "Ada")], "/typed");
        const seen = await done(200, send("PATCH", `/typed/${id}`, [text("age", "2")]));
        assert.deepEqual([seen.age, seen.name], [2, "Ada"]);
      });

      it("turns one file into several and back, and a field into a file", async () => {
        const { id } = await made([file("docs", "a", "1"), text("name", "Ada")]);
        const path = `/people/${id}`;
        await done(200, send("PATCH", path, [file("docs", "b", "2"), file("docs", "c", "1")]));
        assert.deepEqual(
          [await bytesAt(`${path}/docs.1`), await bytesAt(`${path}/docs.2`)],
          ["2", "1"],
        );
        await done(200, send("PATCH", path, [file("docs", "d", "4"), file("name", "n", "5")]));
        assert.deepEqual(
          [await bytesAt(`${path}/docs`), await bytesAt(`${path}/name`)],
          ["4", "5"],
        );
      });

      it("happens once with an Idempotency-Key, whatever the boundary", async () => {
        const { id } = await made([file("photo", "a", "1")]);
        const path = `/people/${id}`;
        const once = { "idempotency-key": `"${id}"` };
        const pieces = [data({ a: 1 }), file("photo", "b", "2")];
        await done(200, send("PATCH", path, pieces, once));
        const tag = await client.tag(path);
        const count = (await filesIn(files)).length;
        const { headers, body } = form(pieces, "another");
        const again = await answerOf(
          app.request(path, { method: "PATCH", headers: { ...headers, ...once }, body }),
        );
        assert.equal(again.headers.get("idempotency-replayed"), "true");
        assert.deepEqual([await client.tag(path), (await filesIn(files)).length], [tag, count]);
        await rejects("key-reused", () => send("PATCH", path, [file("photo", "b", "3")], once));
      });

      it("is rejected as a whole, and leaves nothing", async () => {
        const { id } = await made([text("name", "Ada"), file("photo", "a", "1")]);
        const path = `/people/${id}`;
        const photo = file("photo", "b", "2");
        const wrong = { "if-match": '"x"' };
        await rejects("precondition-failed", () => send("PATCH", path, [photo], wrong));
        await rejects("conflict", () => send("PATCH", path, [data({ id: "other" }), photo]));
        await rejects("invalid-body", () => send("PATCH", path, [data({ photo: null }), photo]));
        await rejects("not-found", () => send("PATCH", "/people/nobody", [photo]));
        const reader = await app.token("people:read", "people:create");
        await rejects("insufficient-scope", () => send("PATCH", path, [photo], {}, reader));
        const form = { "content-type": "application/x-www-form-urlencoded" };
        await rejects("unsupported-media-type", () => client.patch(path, "a=1", form));
      });
    });

    describe("PUT", () => {
      it("replaces all: fields and files that are not sent go", async () => {
        const { id } = await made([
          text("name", "Ada"),
          file("photo", "a", "1"),
          file("cv", "b", "2"),
        ]);
        const count = (await filesIn(files)).length;
        const sent = [data({ age: 36 }), file("photo", "c", "3")];
        const seen = await done(200, send("PUT", `/people/${id}`, sent));
        assert.deepEqual([seen.name, seen.age, seen.cv], [undefined, 36, undefined]);
        assert.equal(await bytesAt(`/people/${id}/photo`), "3");
        assert.equal((await filesIn(files)).length, count - 1);
      });

      it("keeps the files that data shows", async () => {
        const { id, cv } = await made([file("photo", "a", "1"), file("cv", "b", "2")]);
        const sent = [data({ id, cv, name: "Ada" }), file("photo", "c", "3")];
        const seen = await done(200, send("PUT", `/people/${id}`, sent));
        assert.deepEqual([seen.cv, hashIn(seen, "photo")], [cv, hashOf("3")]);
        assert.equal(await bytesAt(`/people/${id}/cv`), "2");
      });

      it("creates a resource with files", async () => {
        const sent = [text("name", "Ada"), file("photo", "c", "3")];
        await done(201, send("PUT", "/people/ada", sent, { "if-none-match": "*" }));
        assert.equal(await bytesAt("/people/ada/photo"), "3");
        await rejects("precondition-failed", () =>
          send("PUT", "/people/ada", sent, { "if-none-match": "*" }),
        );
        await rejects("conflict", () =>
          send("PUT", "/people/ada", [data({ id: "eve" }), ...sent.slice(1)]),
        );
      });

      it("is no form at a unique value", async () => {
        await define("keyed", { unique: ["sku"] });
        await rejects(
          "unsupported-media-type",
          () => send("PUT", "/keyed?sku=1", [data({})]),
          "keyed",
        );
      });
    });

    it("names the part of an error in JSON, and what its method accepts", async () => {
      const broken = { ...data(0), bytes: '{"a": 01}' };
      const { id } = await app.post("people", {});
      const ways = [
        ["POST", "/people", "accept-post"],
        ["PUT", `/people/${id}`, "accept"],
        ["PATCH", `/people/${id}`, "accept-patch"],
      ] as const;
      for (const [method, path, field] of ways) {
        const { errors } = assertProblem(await send(method, path, [broken]), "invalid-body");
        assert.deepEqual(
          errors?.map(({ pointer }) => pointer),
          ["/data"],
        );
        const type = { "content-type": "multipart/form-data; boundary=a-boundary; charset=latin1" };
        const other = await send(method, path, [data({})], type);
        assertProblem(other, "unsupported-media-type");
        const named = ["accept-post", "accept", "accept-patch"].filter((each) =>
          other.headers.has(each),
        );
        assert.deepEqual(named, [field]);
      }
    });

    it("rules decide about fields, files and values", async () => {
      const grant = { name: "open", to: "token" };
      const update = [
        { ...grant, where: { open: true }, fields: ["photo", "note"], check: { open: true } },
      ];
      const access = { read: "public", create: "token", update };
      await define("ruled", { access });
      const token = await app.token("ruled:read", "ruled:update");
      const { id } = await made(
        [data({ open: true, name: "Ada" }), file("cv", "b", "2")],
        "/ruled",
      );
      const path = `/ruled/${id}`;
      const change = (pieces: readonly Piece[]) => () => send("PATCH", path, pieces, {}, token);
      const seen = await done(200, change([data({ note: "n" }), file("photo", "a", "1")])());
      assert.deepEqual([seen.note, hashIn(seen, "photo")], ["n", hashOf("1")]);
      await rejects("forbidden", change([file("cv", "c", "3")]), "ruled");
      await rejects("forbidden", change([data({ open: false }), file("photo", "c", "3")]), "ruled");
      const put = (slot: string) => () =>
        answerOf(app.request(`${path}/${slot}`, { method: "PUT", body: "4", token }));
      assert.equal((await put("photo")()).status, 204);
      await rejects("forbidden", put("cv"), "ruled");
      await rejects("forbidden", put("other"), "ruled");
      const remove = (slot: string) => () =>
        answerOf(app.request(`${path}/${slot}`, { method: "DELETE", token }));
      await rejects("forbidden", remove("cv"), "ruled");
      assert.equal((await remove("photo")()).status, 204);
      await client.patch(path, { open: false });
      await rejects("forbidden", put("photo"), "ruled");
    });

    it("a caller who may not read learns nothing, and may replace", async () => {
      const { id } = await made([
        file("photo", "a", "secret"),
        file("docs", "b", "1"),
        file("docs", "c", "2"),
      ]);
      const path = `/people/${id}`;
      const token = await app.token("people:update");
      const ask = (method: string, slot: string, headers: Fields = {}) =>
        answerOf(
          app.request(`${path}/${slot}`, {
            method,
            headers,
            token,
            ...(method === "PUT" && { body: "x" }),
          }),
        );
      for (const slot of ["photo", "new"]) {
        await rejects("precondition-failed", () => ask("PUT", slot, { "if-none-match": "*" }));
        await rejects("precondition-failed", () =>
          ask("PUT", slot, { "if-match": `"${hashOf("secret")}"` }),
        );
        await rejects("not-found", () => ask("DELETE", slot));
        const { status, headers } = await ask("PUT", slot);
        assert.deepEqual([status, headers.get("location")], [204, null]);
      }
      for (const slot of ["docs.1", "docs.3", "docs.9"])
        await rejects("forbidden", () => ask("PUT", slot));
      assert.equal(await bytesAt(`${path}/photo`), "x");
    });
  });
