// PUT and DELETE of a file: through the one write path, with preconditions on the file's own ETag.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { ProblemKind } from "../../src/model/problem.ts";
import { openConnection, send } from "../runtime/raw-connection.ts";
import { runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import type { TestApp } from "./app.ts";
import { type Client, concurrently, pointersOf } from "./client.ts";
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
type Made = Readonly<Record<string, Shown>> & { readonly id: string };

for (const store of storesHere("sqlite", ["sqlite", "postgres"]))
  describe(`files on ${store}`, () => {
    let running: FilesApp;
    let app: TestApp;
    let client: Client;
    let files: string;
    let define: FilesApp["define"];
    before(async () => {
      const engine = store === "postgres" ? { store } : {};
      running = await startFilesApp({ maxUploadBytes: 1_000_000, ...engine });
      ({ app, client, files, define } = running);
    });
    after(() => running.stop());

    async function made(pieces: readonly Piece[], collection = "people"): Promise<Made> {
      const sent = { method: "POST", ...form(pieces) };
      const { status, body } = await answerOf(app.request(`/${collection}`, sent));
      assert.equal(status, 201, body);
      return JSON.parse(body);
    }

    const put = (
      path: string,
      body: string | Uint8Array<ArrayBuffer>,
      headers: Fields = {},
      token: string | null = app.admin,
    ): Promise<Answer> => {
      const type = { "content-type": "text/plain" };
      return answerOf(
        app.request(path, { method: "PUT", headers: { ...type, ...headers }, body, token }),
      );
    };

    const bytesAt = async (path: string): Promise<string> => (await client.get(path)).body;
    const tagOf = (content: string | Uint8Array) => `"${hashOf(content)}"`;

    const rejects = (kind: ProblemKind, ask: () => Promise<Answer>, collection = "people") =>
      rejectsWithoutChange(client, { kind, collection, files }, ask);

    describe("PUT of a file", () => {
      it("replaces the bytes, the type and the name, and nothing else", async () => {
        const { id, photo } = await made([text("name", "Ada"), file("photo", "a.txt", "old")]);
        const before = await client.get(`/people/${id}`);
        const count = (await filesIn(files)).length;
        const type = { "content-type": "image/png" };
        const named = { "content-disposition": 'attachment; filename="b.png"' };
        const answer = await put(photo?.url ?? "", "new bytes", { ...type, ...named });
        assert.deepEqual([answer.status, answer.body], [204, ""]);
        assert.equal(answer.headers.get("etag"), tagOf("new bytes"));
        const after = await client.json<Record<string, unknown>>(`/people/${id}`);
        assert.equal(after.name, "Ada");
        assert.deepEqual(after.photo, {
          ...{ name: "b.png", type: "image/png", size: 9, sha256: hashOf("new bytes") },
          url: photo?.url,
        });
        assert.equal(await bytesAt(photo?.url ?? ""), "new bytes");
        assert.notEqual(await client.tag(`/people/${id}`), before.headers.get("etag"));
        assert.equal((await filesIn(files)).length, count, "the old bytes are removed");
      });

      it("keeps the name when none is sent", async () => {
        const { id, photo } = await made([file("photo", "a.txt", "old")]);
        await put(`/people/${id}/photo`, "new");
        const { photo: after } = await client.json<Made>(`/people/${id}`);
        assert.deepEqual([after?.name, after?.url], ["a.txt", photo?.url]);
      });

      it("names a new file after its member and type when no name is sent", async () => {
        const { id } = await app.post("people", { name: "Bob" });
        for (const [member, type, name] of [
          ["photo", "image/png", "photo.png"],
          ["notes", "text/plain; charset=utf-8", "notes.txt"],
          ["docs.1", "application/pdf", "docs.pdf"],
          ["data", "application/octet-stream", "data"],
        ] as const) {
          const { status, body } = await put(`/people/${id}/${member}`, "x", {
            "content-type": type,
          });
          assert.equal(status, 201, body);
          const shown = (
            await client.json<Record<string, Shown | readonly Shown[]>>(`/people/${id}`)
          )[member.split(".")[0] ?? ""];
          assert.equal([shown].flat()[0]?.name, name);
        }
        const single = await app.request("/people", {
          method: "POST",
          headers: { "content-type": "image/webp" },
          body: "x",
        });
        assert.equal(((await single.json()) as Made).file?.name, "file.webp");
      });

      it("adds a file where there is none, at its Location", async () => {
        const { id } = await app.post("people", { name: "Bob", empty: null });
        const answer = await put(`/people/${id}/cv`, "words");
        assert.equal(answer.status, 201, answer.body);
        assert.equal(answer.headers.get("location"), `/people/${id}/cv`);
        assert.equal(await bytesAt(`/people/${id}/cv`), "words");
        assert.equal((await put(`/people/${id}/empty`, "")).status, 201);
        assert.equal(await bytesAt(`/people/${id}/empty`), "");
      });

      it("responds with the resource on request", async () => {
        const { id } = await app.post("people", { name: "Bob" });
        const prefer = { prefer: "return=representation" };
        const added = await put(`/people/${id}/cv`, "1", prefer);
        const replaced = await put(`/people/${id}/cv`, "2", prefer);
        assert.deepEqual([added.status, replaced.status], [201, 200]);
        for (const { headers } of [added, replaced]) {
          assert.equal(headers.get("content-location"), `/people/${id}`);
          assert.equal(headers.get("preference-applied"), "return=representation");
          assert.equal(headers.get("etag"), null);
        }
        assert.equal((JSON.parse(added.body) as Made).cv?.sha256, hashOf("1"));
        assert.equal((JSON.parse(replaced.body) as Made).cv?.sha256, hashOf("2"));
      });

      it("takes any type, and decodes a content coding", async () => {
        const { id } = await app.post("people", {});
        const path = `/people/${id}/data`;
        for (const type of [
          "application/json",
          "application/pdf",
          "application/x-ndjson",
          "image/png",
        ]) {
          await put(path, '{"a":1}', { "content-type": type });
          const { headers, body } = await client.get(path);
          assert.deepEqual([headers.get("content-type"), body], [type, '{"a":1}']);
        }
        const packed = new Uint8Array(gzipSync("unpacked"));
        const answer = await put(path, packed, { "content-encoding": "gzip" });
        assert.deepEqual([answer.status, answer.headers.get("etag")], [204, null]);
        assert.equal(await bytesAt(path), "unpacked");
      });

      it("needs no Content-Type", async () => {
        const { id } = await app.post("people", {});
        const head = [
          `PUT /people/${id}/data HTTP/1.1`,
          ...["Host: x", `Authorization: Bearer ${app.admin}`, "Content-Length: 3"],
        ];
        const { responses } = await send(app.port, [`${head.join("\r\n")}\r\n\r\nabc`]);
        assert.equal(responses[0]?.status, 201);
        const { headers, body } = await client.get(`/people/${id}/data`);
        assert.deepEqual([headers.get("content-type"), body], ["application/octet-stream", "abc"]);
      });
    });

    describe("a precondition of a file", () => {
      it("is about the file, not about the resource", async () => {
        const { id } = await made([file("photo", "a", "1"), file("cv", "b", "2")]);
        const [photo, cv] = [`/people/${id}/photo`, `/people/${id}/cv`];
        const whole = await client.tag(`/people/${id}`);
        assert.equal((await put(cv, "3", { "if-match": tagOf("2") })).status, 204);
        assert.equal((await put(photo, "4", { "if-match": `"x", ${tagOf("1")}` })).status, 204);
        for (const wrong of [tagOf("1"), whole, `W/${tagOf("4")}`])
          await rejects("precondition-failed", () => put(photo, "5", { "if-match": wrong }));
        await rejects("malformed-request", () => put(photo, "5", { "if-match": "abc" }));
        await rejects("precondition-failed", () =>
          client.remove(photo, { "if-match": tagOf("1") }),
        );
        assert.equal((await client.remove(photo, { "if-match": tagOf("4") })).status, 204);
        await rejects("precondition-failed", () => put(photo, "5", { "if-match": "*" }));
      });

      it("If-None-Match: * adds, and never replaces", async () => {
        const { id } = await app.post("people", {});
        const path = `/people/${id}/photo`;
        const once = { "if-none-match": "*" };
        assert.equal((await put(path, "1", once)).status, 201);
        await rejects("precondition-failed", () => put(path, "2", once));
        assert.equal(await bytesAt(path), "1");
      });

      it("a date is that of the upload", async () => {
        const { id } = await made([file("photo", "a", "1")]);
        const path = `/people/${id}/photo`;
        const created = (await client.get(path)).headers.get("last-modified") ?? "";
        // The first second of the resource must be over.
        while (Math.floor(Date.now() / 1000) * 1000 <= Date.parse(created)) await sleep(50);
        await put(path, "2");
        const { headers } = await client.get(path);
        const date = headers.get("last-modified") ?? "";
        assert.ok(Date.parse(date) > Date.parse(created), `${created} ${date}`);
        const since = (field: string) => client.get(path, { "if-modified-since": field });
        assert.equal((await since(created)).status, 200);
        assert.equal((await since(date)).status, 304);
        await client.patch(`/people/${id}`, { name: "Ada" });
        assert.equal((await client.get(path)).headers.get("last-modified"), date);
        assert.equal((await since(date)).status, 304);
        const unmodified = { "if-unmodified-since": created };
        await rejects("precondition-failed", () => put(path, "3", unmodified));
        await put(path, "3");
        const third = (await client.get(path)).headers.get("last-modified");
        // Two uploads within a second have one date, which then decides nothing.
        if (third === date) assert.equal((await since(date)).status, 200);
      });

      it("may be required", async () => {
        await define("strict", { preconditions: "required" });
        await client.put("/strict/a", {}, { "if-none-match": "*" });
        const path = "/strict/a/photo";
        await rejects("precondition-required", () => put(path, "1"), "strict");
        assert.equal((await put(path, "1", { "if-none-match": "*" })).status, 201);
        await rejects("precondition-required", () => client.remove(path), "strict");
        assert.equal((await put(path, "2", { "if-match": tagOf("1") })).status, 204);
        assert.equal((await client.remove(path, { "if-match": tagOf("2") })).status, 204);
      });

      it("one of many replacements wins, and no bytes are lost or left", async () => {
        const { id } = await made([file("photo", "a", "first")]);
        const path = `/people/${id}/photo`;
        const count = (await filesIn(files)).length;
        const answers = await concurrently(8, (index) =>
          put(path, `bytes ${index}`, { "if-match": tagOf("first") }),
        );
        const winners = answers.flatMap(({ status }, index) => (status === 204 ? [index] : []));
        assert.equal(winners.length, 1);
        assert.ok(answers.every(({ status }) => status === 204 || status === 412));
        assert.equal(await bytesAt(path), `bytes ${winners[0]}`);
        await concurrently(8, (index) => put(path, `again ${index}`));
        assert.match(await bytesAt(path), /^again \d$/);
        assert.equal((await filesIn(files)).length, count);
      });
    });

    describe("a download", () => {
      it("that has begun ends with the bytes that it began with", async () => {
        const old = randomBytes(900_000);
        const { id } = await app.post("people", {});
        const path = `/people/${id}/photo`;
        for (const change of [() => put(path, "new"), () => client.remove(path)]) {
          assert.ok((await put(path, old)).status < 300);
          const connection = await openConnection(app.port);
          connection.write(
            `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.admin}\r\n\r\n`,
          );
          assert.equal((await change()).status, 204);
          const { status = 0, bytes = Buffer.alloc(0) } = (await connection.response()) ?? {};
          connection.destroy();
          // It may have begun only after the change.
          const expected = status === 200 ? [hashOf(old), hashOf("new")] : [];
          assert.ok(status === 404 || expected.includes(hashOf(bytes)), `${status}`);
        }
      });

      it("is whole while the file is replaced again and again", async () => {
        const { id } = await made([file("photo", "a", "0".repeat(1_000))]);
        const path = `/people/${id}/photo`;
        let isOver = false;
        const writing = (async () => {
          for (let round = 1; round <= runs(20, 60); round++)
            assert.equal((await put(path, String(round % 10).repeat(1_000 + round))).status, 204);
          isOver = true;
        })();
        const reading = concurrently(4, async () => {
          while (!isOver) {
            const { status, headers, body } = await client.get(path);
            assert.equal(status, 200, body);
            assert.equal(headers.get("etag"), tagOf(body));
          }
        });
        await Promise.all([writing, reading]);
      });
    });

    describe("a list of files", () => {
      const names = async (path: string) => {
        const { docs } = await client.json<{ docs?: readonly Shown[] }>(path);
        return docs?.map(({ url }) => url.split(".").at(-1));
      };

      it("takes a new file at the next number", async () => {
        const { id } = await made(["a", "b"].map((name) => file("docs", name, name)));
        const path = `/people/${id}`;
        assert.equal((await put(`${path}/docs.2`, "B")).status, 204);
        assert.equal((await put(`${path}/docs.3`, "c")).status, 201);
        assert.deepEqual(await names(path), ["1", "2", "3"]);
        assert.equal(await bytesAt(`${path}/docs.2`), "B");
        for (const slot of ["docs.5", "docs"]) {
          const { detail, errors } = await rejects("conflict", () => put(`${path}/${slot}`, "x"));
          assert.match(detail, /"docs.4"/);
          assert.equal(errors?.[0]?.pointer, "/docs");
        }
      });

      it("keeps the URLs of the others when one is removed", async () => {
        const { id } = await made(["a", "b", "c"].map((name) => file("docs", name, name)));
        const path = `/people/${id}`;
        assert.equal((await client.remove(`${path}/docs.2`)).status, 204);
        assert.deepEqual(await names(path), ["1", "3"]);
        assert.equal(await bytesAt(`${path}/docs.3`), "c");
        assert.equal((await put(`${path}/docs.2`, "new")).status, 201);
        assert.deepEqual(await names(path), ["1", "3", "2"]);
        for (const number of [1, 2, 3])
          assert.equal((await client.remove(`${path}/docs.${number}`)).status, 204);
        assert.equal(await names(path), undefined);
        assert.equal((await put(`${path}/docs.1`, "x")).status, 201);
      });

      it("keeps equal files apart", async () => {
        const { id } = await made(["x", "y", "y"].map((bytes) => file("docs", "n", bytes)));
        const path = `/people/${id}`;
        assert.equal((await put(`${path}/docs.2`, "x")).status, 204);
        assert.deepEqual(await names(path), ["1", "2", "3"]);
        const all = [1, 2, 3].map((number) => bytesAt(`${path}/docs.${number}`));
        assert.deepEqual(await Promise.all(all), ["x", "x", "y"]);
        assert.equal((await client.remove(`${path}/docs.1`)).status, 204);
        assert.deepEqual(await names(path), ["2", "3"]);
      });

      it("is one by the schema also when it is empty, and one file is not a list", async () => {
        await define("lists", { schema: { properties: { docs: { type: "array", maxItems: 2 } } } });
        const { id } = await app.post("lists", { docs: [] });
        const path = `/lists/${id}`;
        await rejects("conflict", () => put(`${path}/docs`, "x"), "lists");
        assert.equal((await put(`${path}/docs.1`, "x")).status, 201);
        assert.equal((await put(`${path}/docs.2`, "x")).status, 201);
        const tooMany = await rejects("invalid-body", () => put(`${path}/docs.3`, "x"), "lists");
        assert.deepEqual(pointersOf(tooMany), ["/docs"]);
        const { id: other } = await made([file("photo", "a", "1")]);
        await rejects("conflict", () => put(`/people/${other}/photo.1`, "x"));
        await rejects("conflict", () => put(`/people/${other}/photo.2`, "x"));
      });
    });

    describe("a change of a file", () => {
      it("is a revision of its resource, and in the feed", async () => {
        const { id } = await made([file("photo", "a", "1")]);
        const path = `/people/${id}`;
        const patch = { method: "PATCH", ...form([file("photo", "b", "3")]) };
        const changes: readonly (readonly [act: () => Promise<Answer>, sha256?: string])[] = [
          [() => put(`${path}/photo`, "2"), hashOf("2")],
          [() => answerOf(app.request(path, patch)), hashOf("3")],
          [() => client.remove(`${path}/photo`)],
          [() => put(`${path}/photo`, "4"), hashOf("4")],
        ];
        const tags = new Set([await client.tag(path)]);
        let { next } = await feedSince();
        for (const [act, sha256] of changes) {
          assert.ok((await act()).status < 300);
          const feed = await feedSince(next);
          const shown = feed.changes.map(({ resource }) => [resource.id, resource.photo?.sha256]);
          assert.deepEqual(shown, [[id, sha256]]);
          next = feed.next;
          tags.add(await client.tag(path));
        }
        assert.equal(tags.size, changes.length + 1);
      });

      interface Feed {
        readonly changes: readonly { readonly revision: number; readonly resource: Made }[];
        readonly next: string;
        readonly more: boolean;
      }

      /** The changes since a position; without one, the last page of all. */
      async function feedSince(position = "0", isLast = position === "0"): Promise<Feed> {
        const path = `/people?since=${encodeURIComponent(position)}&limit=100`;
        const feed = await client.json<Feed>(path);
        return isLast && feed.more ? feedSince(feed.next, true) : feed;
      }
    });

    describe("DELETE of a file", () => {
      it("removes the file and its bytes, and keeps the resource", async () => {
        const count = (await filesIn(files)).length;
        const { id } = await made([text("name", "Ada"), file("photo", "a", "1")]);
        const path = `/people/${id}/photo`;
        const answer = await client.remove(path);
        assert.deepEqual([answer.status, answer.body], [204, ""]);
        for (const again of [await client.get(path), await client.remove(path)])
          assertProblem(again, "not-found");
        const { name, photo } = await client.json<Record<string, unknown>>(`/people/${id}`);
        assert.deepEqual([name, photo], ["Ada", undefined]);
        assert.equal((await filesIn(files)).length, count);
      });

      it("is 404 for what is no file, whatever the precondition", async () => {
        const { id } = await app.post("people", { name: "Ada" });
        for (const slot of ["photo", "name", "name.1"])
          await rejects("not-found", () =>
            client.remove(`/people/${id}/${slot}`, { "if-match": '"x"' }),
          );
        await rejects("not-found", () => client.remove("/people/nobody/photo"));
      });

      it("is a conflict when the schema requires the file", async () => {
        await define("avatars", { schema: { required: ["image"] } });
        const { id } = await made([file("image", "a", "1")], "avatars");
        const problem = await rejects(
          "conflict",
          () => client.remove(`/avatars/${id}/image`),
          "avatars",
        );
        assert.match(problem.detail, /not be valid without this file/);
      });
    });

    describe("a rejected PUT changes nothing and leaves nothing", () => {
      it("for its name", async () => {
        const { id } = await app.post("people", { name: "Ada", list: [1] });
        const names = ["%2e%2e", "..", "a%00", "a%2Fb", "..%2f..%2fetc", "a".repeat(300), "a.b"];
        const others = ["9a", "a.0", "a.", "a.10000", "__proto__", "id", "createdAt", "_etag"];
        const before = [await client.state("people"), await filesIn(files)];
        for (const name of [...names, ...others]) {
          // A client library would normalize the path.
          const head = [
            `PUT /people/${id}/${name} HTTP/1.1`,
            ...["Host: x", `Authorization: Bearer ${app.admin}`, "Content-Length: 1"],
          ];
          const { responses } = await send(app.port, `${head.join("\r\n")}\r\n\r\nx`);
          assert.equal(responses[0]?.status, 400, name);
        }
        assert.deepEqual([await client.state("people"), await filesIn(files)], before);
        for (const name of ["name", "list", "list.1"]) {
          const problem = await rejects("conflict", () => put(`/people/${id}/${name}`, "x"));
          assert.deepEqual(pointersOf(problem), [`/${name.split(".")[0]}`]);
        }
      });

      it("for its resource", async () => {
        await rejects("not-found", () => put("/people/nobody/photo", "x"));
        assertProblem(await put("/nothing/nobody/photo", "x"), "not-found");
        const { id } = await app.post("people", {});
        await rejects("invalid-parameter", () => put(`/people/${id}/photo?a=1`, "x"));
        const reader = await app.token("people:read", "people:create");
        await rejects("insufficient-scope", () => put(`/people/${id}/photo`, "x", {}, reader));
        await rejects("unauthenticated", () => put(`/people/${id}/photo`, "x", {}, null));
      });

      it("for its body", async () => {
        const { id } = await made([file("photo", "a", "1")]);
        const path = `/people/${id}/photo`;
        const range = { "content-range": "bytes 0-0/1" };
        await rejects("malformed-request", () => put(path, "x", range));
        await rejects("content-too-large", () => put(path, randomBytes(1_000_001)));
        const digest = { "content-digest": `sha-256=:${Buffer.alloc(32).toString("base64")}:` };
        await rejects("invalid-body", () => put(path, "x", digest));
        await rejects("unsupported-media-type", () => put(path, "x", { "content-encoding": "a" }));
        await rejects("malformed-request", () => put(path, "x", { "content-disposition": '"' }));
        for (const type of [
          "multipart/form-data; boundary=a",
          "application/x-www-form-urlencoded",
        ]) {
          const problem = await rejects("unsupported-media-type", () =>
            put(path, "x", { "content-type": type }),
          );
          assert.match(problem.detail, /not a form/);
        }
        const head = `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.admin}\r\n`;
        const { responses } = await send(app.port, [`${head}\r\n`]);
        assert.equal(responses[0]?.status, 400);
      });

      it("for the schema", async () => {
        const image = {
          properties: { type: { const: "image/png" }, size: { maximum: 5 } },
        };
        await define("pictures", {
          schema: { properties: { image }, additionalProperties: false },
        });
        const { id } = await app.post("pictures", {});
        const path = `/pictures/${id}/image`;
        const png = { "content-type": "image/png" };
        const wrong: readonly [string, string, Fields, string][] = [
          [path, "12345", {}, "/image/type"],
          [path, "123456", png, "/image/size"],
          [`/pictures/${id}/other`, "1", png, "/other"],
        ];
        for (const [target, bytes, headers, pointer] of wrong) {
          const ask = () => put(target, bytes, headers);
          assert.deepEqual(pointersOf(await rejects("invalid-body", ask, "pictures")), [pointer]);
        }
        assert.equal((await put(path, "12345", png)).status, 201);
      });

      it("when the connection is cut, or Content-Length is a lie", async () => {
        const { id } = await made([file("photo", "a", "1")]);
        const before = await filesIn(files);
        const head = `PUT /people/${id}/photo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.admin}\r\n`;
        const connection = await openConnection(app.port);
        connection.write(`${head}Content-Length: 1000\r\n\r\n${"x".repeat(500)}`);
        while ((await filesIn(files)).length === before.length) await sleep(5);
        connection.destroy();
        while ((await filesIn(files)).length > before.length) await sleep(5);
        assert.equal(await bytesAt(`/people/${id}/photo`), "1");
        const { responses } = await send(app.port, [`${head}Content-Length: 1\r\n\r\nxGET`]);
        assert.equal(responses[0]?.status, 204);
        assert.equal(await bytesAt(`/people/${id}/photo`), "x");
      });
    });
  });
