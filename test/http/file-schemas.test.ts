// Files in collections with schemas: no keyword of a schema loses a file that was acknowledged.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import type { TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";
import { type FilesApp, startFilesApp } from "./files-app.ts";
import { file, form, type Piece, type Shown } from "./multipart.ts";

let running: FilesApp;
let app: TestApp;
let client: Client;
before(async () => {
  running = await startFilesApp();
  ({ app, client } = running);
});
after(() => running.stop());

const send = (
  method: string,
  path: string,
  pieces: readonly Piece[],
  token: string = app.admin,
): Promise<Answer> => answerOf(app.request(path, { method, ...form(pieces), token }));

/** The keywords of one member, or of the items of a list. */
const keywords: readonly object[] = [
  {},
  { properties: { caption: { type: "string", default: "none" } } },
  { properties: { caption: { default: "none" } }, required: ["caption", "sha256"] },
  { properties: { crop: { properties: { x: { default: 0 } }, default: {} } } },
  { properties: { name: { default: "a" }, type: { type: "string" } } },
];
/** These are not allowed in lists. */
const ofMembers: readonly object[] = [
  { readOnly: true },
  { readOnly: true, properties: { caption: { default: "none" } } },
  { properties: { sha256: { writeOnly: true }, caption: { default: "none" } } },
  { properties: { url: { writeOnly: true }, caption: { writeOnly: true, default: "" } } },
];

describe("a file in a collection with a schema", () => {
  it("keeps its bytes, whatever the schema fills in and whatever is written", async () => {
    const random = randomNumbers(newSeed("files with schemas", 1));
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    const draw = () => ({
      schema: {
        type: "object",
        properties: {
          n: { type: "integer", default: 1 },
          photo: { type: "object", ...pick([...keywords, ...ofMembers]) },
          docs: { type: "array", items: { type: "object", ...pick(keywords) } },
        },
      },
    });
    for (let run = 0; run < runs(3, 400); run++) {
      const collection = `drawn${run}`;
      const first = draw();
      await running.define(collection, first);
      const bytes = { photo: "first", "docs.1": "one", "docs.2": "two" };
      const pieces = Object.entries(bytes).map(([slot, text]) =>
        file(slot.split(".")[0] ?? "", "a.txt", text),
      );
      const made = await send("POST", `/${collection}`, pieces);
      assert.equal(made.status, 201, made.body);
      const path = `/${collection}/${JSON.parse(made.body).id}`;
      const steps: readonly [string, () => Promise<Answer>][] = [
        ["PUT", async () => client.put(path, JSON.parse((await client.get(path)).body))],
        ["merge patch", () => client.patch(path, { n: run })],
        ["JSON patch", () => client.jsonPatch(path, [{ op: "add", path: "/n", value: 3 }])],
        ["define", async () => client.put(`/-/collections/${collection}`, draw())],
        [
          "PUT of a file",
          () => {
            bytes.photo = `${run} ${random()}`;
            return answerOf(app.request(`${path}/photo`, { method: "PUT", body: bytes.photo }));
          },
        ],
        [
          "PATCH with a form",
          () => {
            bytes.photo = `${run} ${random()}`;
            return send("PATCH", path, [file("photo", "b.txt", bytes.photo)]);
          },
        ],
      ];
      const done: string[] = [JSON.stringify(first)];
      for (let step = 0; step < 5; step++) {
        const [name, act] = pick(steps);
        done.push(name);
        const { status, body } = await act();
        assert.ok(status < 300, `${done}: ${body}`);
        for (const [slot, text] of Object.entries(bytes)) {
          const answer = await client.get(`${path}/${slot}`);
          assert.deepEqual([answer.status, answer.body], [200, text], `${slot} after ${done}`);
        }
      }
      const { photo } = JSON.parse((await client.get(path)).body) as { photo: Shown };
      assert.equal("caption" in photo, false, "only the server describes a file");
    }
  });

  it("is not removed by a caller who may not change it, and no 204 says so", async () => {
    const schema = { properties: { photo: { readOnly: true } } };
    const everyone = { create: "public", read: "public", update: "public" };
    await running.define("kept", { schema, access: everyone });
    const { id } = JSON.parse((await send("POST", "/kept", [file("photo", "a", "seen")])).body);
    const path = `/kept/${id}/photo`;
    for (const token of [null, await app.token("people:read", "kept:update")])
      assertProblem(await new Client(app, token).remove(path), "insufficient-scope");
    assert.equal((await client.get(path)).body, "seen");
    assert.equal((await client.remove(path)).status, 204);
  });

  it("is rejected where a rule sets a value inside it", async () => {
    const create = [{ name: "new", to: "token", set: { "photo.by": "rule" } }];
    await running.define("signed", { access: { create, read: "public" } });
    const token = await app.token("signed:create");
    const answer = await send("POST", "/signed", [file("photo", "a", "lost")], token);
    const problem = assertProblem(answer, "invalid-body");
    assert.deepEqual(pointersOf(problem), ["/photo"]);
  });

  it("stays where a rule sets a value inside it, and goes where a rule replaces it", async () => {
    const update = (set: object) => ({
      access: { read: "public", update: [{ name: "change", to: "token", set }] },
    });
    await running.define("stamped", {});
    const { id } = JSON.parse((await send("POST", "/stamped", [file("photo", "a", "seen")])).body);
    const path = `/stamped/${id}`;
    const token = await app.token("stamped:update");
    const caller = new Client(app, token);
    const changes = [
      () => caller.patch(path, { n: 1 }),
      () => send("PATCH", path, [file("other", "b", "more")], token),
    ];
    await running.define("stamped", update({ "photo.by": "rule" }));
    for (const change of changes)
      assert.deepEqual(pointersOf(assertProblem(await change(), "invalid-body")), ["/photo"]);
    assert.equal((await client.get(`${path}/photo`)).body, "seen");
    await running.define("stamped", update({ photo: "none" }));
    const [first] = changes;
    assert.equal((await first?.())?.status, 200);
    assert.equal(JSON.parse((await client.get(path)).body).photo, "none");
  });

  it("stays or goes as a whole, whichever part of it a caller may not see or change", async () => {
    const parts = ["name", "type", "size", "sha256", "url"];
    const schema = (keyword: object, part: string) => ({
      type: "object",
      properties: {
        n: { type: "integer" },
        photo: {
          type: "object",
          properties: Object.fromEntries(
            parts.map((name) => [name, name === part ? keyword : {}] as const),
          ),
        },
      },
    });
    const update = [{ name: "all", to: "token" }];
    const seeing = (...fields: string[]) => ({
      read: [{ name: "some", to: "token", fields: ["n", ...fields] }],
      update,
    });
    const definitions = parts.flatMap((part) => [
      { schema: schema({ readOnly: true }, part) },
      { schema: schema({ writeOnly: true }, part) },
      { schema: schema({ readOnly: true }, part), access: seeing("photo") },
      { schema: schema({ writeOnly: true }, part), access: seeing("photo") },
      { schema: schema({}, part), access: seeing(`photo.${part}`) },
    ]);
    const caller = new Client(app, await app.token("whole:*"));
    const ways: readonly ((path: string) => Promise<Answer>)[] = [
      (path) => caller.put(path, { n: 1 }),
      (path) => caller.patch(path, { photo: null }),
      (path) => caller.jsonPatch(path, [{ op: "remove", path: "/photo" }]),
      (path) => caller.batch([{ method: "PUT", path, body: { n: 1 } }]),
      (path) => caller.remove(`${path}/photo`),
    ];
    await running.define("whole", {});
    for (const definition of definitions) {
      await running.define("whole", definition);
      const isRemovable = !JSON.stringify(definition).includes("readOnly");
      const sees = JSON.stringify(definition.access?.read[0]?.fields) ?? '"photo"';
      for (const way of ways) {
        const { body } = await send("POST", "/whole", [file("photo", "a.txt", "seen")]);
        const path = `/whole/${JSON.parse(body).id}`;
        const answer = await way(path);
        const known = `${way} ${JSON.stringify(definition)}: ${answer.status} ${answer.body}`;
        const { photo } = await client.json<{ photo?: object }>(path);
        const stored = await client.get(`${path}/photo`);
        const isThere = !isRemovable || !sees.includes('"photo"');
        assert.deepEqual([photo !== undefined, stored.status === 200], [isThere, isThere], known);
      }
    }
  });

  it("is not changed in a part by a caller who may not change all of it", async () => {
    const schema = { properties: { photo: { properties: { sha256: { readOnly: true } } } } };
    await running.define("partly", { schema });
    const { id } = JSON.parse((await send("POST", "/partly", [file("photo", "a", "seen")])).body);
    const caller = new Client(app, await app.token("partly:*"));
    const answer = await caller.patch(`/partly/${id}`, { photo: { size: 5 } });
    assert.deepEqual(pointersOf(assertProblem(answer, "invalid-body")), ["/photo"]);
    assert.equal((await client.get(`/partly/${id}/photo`)).body, "seen");
    assert.equal((await client.patch(`/partly/${id}`, { photo: null })).status, 200);
  });
});
