// examples/move/from-json-server.js: what db.json has is in Restante afterwards, as docs/from-json-server.md says.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "../http/app.ts";
import { blocksOf, type Ended, moveFrom } from "./script.ts";

let app: TestApp;
let folder: string;
before(async () => {
  app = await startApp();
  folder = await mkdtemp(join(tmpdir(), "restante-move-"));
});
after(async () => {
  await app.stop();
  await rm(folder, { recursive: true });
});

async function move(content: string): Promise<Ended> {
  const file = join(folder, "db.json");
  await writeFile(file, content);
  return moveFrom("from-json-server.js", file, app);
}

type Fields = Record<string, unknown>;

async function read(path: string): Promise<Fields> {
  const answer = await app.request(path);
  const { createdAt: _, updatedAt: __, ...fields } = (await answer.json()) as Fields;
  return fields;
}

const definitionOf = (name: string) => read(`/-/collections/${name}/definition`);

describe("from json-server", () => {
  it("moves the db.json of the page, once and again", async () => {
    const [content = ""] = await blocksOf("from-json-server.md", "json");
    const [output = ""] = await blocksOf("from-json-server.md", "text");
    for (let time = 0; time < 2; time++)
      assert.deepEqual(await move(content), { code: 0, stdout: output, stderr: "" });

    assert.deepEqual(await read("/posts/1"), {
      ...{ id: "1", title: "Hello", views: 100, created: "2026-01-05T09:00:00Z" },
    });
    assert.deepEqual(await read("/blog-comments/c1"), { id: "c1", text: "Nice", postId: "1" });
    assert.deepEqual(await read("/settings/profile"), { id: "profile", name: "typicode" });
    const { schema, references } = await definitionOf("posts");
    const created = { type: "string", format: "date-time" };
    const [title, views] = [{ type: "string" }, { type: "integer" }];
    assert.deepEqual(schema, { type: "object", properties: { title, views, created } });
    assert.deepEqual(references, {});
    assert.deepEqual((await definitionOf("blog-comments")).references, {
      postId: { collection: "posts" },
    });
    assert.equal((await app.request("/posts/1", { method: "DELETE" })).status, 409);
    const { _expanded } = await read("/blog-comments/c1?expand=postId");
    assert.equal((_expanded as { postId: { title: string } }).postId.title, "Hello");
  });

  it("keeps values of several types, null, and what refers to itself or to nothing", async () => {
    const content = {
      nodes: [
        { id: 1, parentId: 2, nodeId: 2, value: 1.5, other: null },
        { id: 2, parentId: null, nodeId: null, value: "x", other: 7 },
        { nodeId: 99, value: null, deep: { list: [1, "a"] } },
      ],
      boxes: [{ id: 5 }],
      things: [{ id: 1, boxId: 5, categoryId: null }],
      categories: [],
    };
    const { code, stdout, stderr } = await move(JSON.stringify(content));
    assert.match(stderr, /^nodeId of nodes is no reference: 3 leads nowhere\n$/);
    assert.equal(code, 0);
    assert.match(stdout, /^nodes → \/nodes: 3 there, 3 here$/m);
    assert.match(stdout, /^categories → \/categories: 0 there, 0 here$/m);
    assert.deepEqual(await read("/nodes/3"), {
      ...{ id: "3", nodeId: "99", value: null, deep: { list: [1, "a"] } },
    });
    const { schema } = await definitionOf("nodes");
    const { properties } = schema as { properties: Record<string, unknown> };
    assert.deepEqual(properties.value, {});
    assert.deepEqual(properties.other, { type: ["integer", "null"] });
    assert.deepEqual((await definitionOf("things")).references, {
      boxId: { collection: "boxes" },
      categoryId: { collection: "categories" },
    });
  });

  it("says which record was rejected, and ends with 1", async () => {
    const { code, stderr } = await move('{"notes": [{"id": "a b"}, {"id": "c"}]}');
    assert.equal(code, 1);
    assert.match(stderr, /^notes\/a b was rejected: /m);
    assert.match(stderr, /^\/notes has 1 resources, not 2$/m);
    assert.equal(await app.total("notes"), 1);
  });

  it("says what is missing, and what the server refuses", async () => {
    const none = await moveFrom("from-json-server.js", "db.json", app, { RESTANTE_TOKEN: "rst_x" });
    assert.equal(none.code, 1);
    assert.match(none.stderr, /ENOENT/);
    const file = join(folder, "db.json");
    const wrong = await moveFrom("from-json-server.js", file, app, { RESTANTE_TOKEN: "rst_x" });
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /PUT \/-\/collections\/notes: 401 /);
  });
});
