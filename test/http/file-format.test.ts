// Members that the schema marks as files (`format: "file"`): JSON cannot forge one.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { TestApp } from "./app.ts";
import { type Client, pointersOf } from "./client.ts";
import { answerOf, assertProblem } from "./expect.ts";
import { type FilesApp, startFilesApp } from "./files-app.ts";
import { file, form, text } from "./multipart.ts";

const schema = {
  type: "object",
  required: ["image"],
  properties: {
    title: { type: "string" },
    image: {
      type: ["object", "null"],
      format: "file",
      properties: { type: { enum: ["image/png"] }, size: { type: "integer" } },
    },
    docs: { type: "array", items: { $ref: "#/$defs/document" } },
    plain: { type: "object" },
  },
  $defs: { document: { format: "file" } },
};
const forged = { type: "image/png", size: 1, sha256: "00", url: "https://evil.example/x.js" };

let running: FilesApp;
let app: TestApp;
let client: Client;
before(async () => {
  running = await startFilesApp();
  ({ app, client } = running);
  await running.define("pictures", { schema });
});
after(() => running.stop());

const upload = async (bytes = "png"): Promise<{ path: string; shown: Record<string, unknown> }> => {
  const pieces = [text("title", "one"), file("image", "a.png", bytes, "image/png")];
  const made = await answerOf(app.request("/pictures", { method: "POST", ...form(pieces) }));
  assert.equal(made.status, 201, made.body);
  const shown = JSON.parse(made.body);
  return { path: `/pictures/${shown.id}`, shown };
};

describe("a member that is marked as a file", () => {
  it("is set by an upload only, whoever writes", async () => {
    const { path, shown } = await upload();
    const other = await upload("other");
    for (const value of [forged, {}, "x", 5, true, [forged], [{}], other.shown.image]) {
      const answers = [
        await client.post("/pictures", { image: value }),
        await client.put("/pictures/chosen", { image: value }),
        await client.put(path, { image: value }),
        // A merge patch with {} changes nothing.
        await client.patch(path, { image: JSON.stringify(value) === "{}" ? "y" : value }),
        await client.jsonPatch(path, [{ op: "add", path: "/image", value }]),
      ];
      for (const answer of answers) {
        const pointers = pointersOf(assertProblem(answer, "invalid-body"));
        assert.deepEqual(pointers, ["/image"], JSON.stringify(value));
      }
      const operation = { method: "PUT", path: "/pictures/chosen", body: { image: value } };
      assertProblem(await client.post("/-/batch", { operations: [operation] }), "invalid-body");
    }
    for (const docs of [[forged], [{}], [null], {}]) {
      const problem = assertProblem(await client.patch(path, { docs }), "invalid-body");
      assert.ok(pointersOf(problem).includes("/docs"), JSON.stringify(docs));
    }
    assert.deepEqual(JSON.parse((await client.get(path)).body), shown);
    assert.equal((await client.get(`${path}/image`)).body, "png");
  });

  it("stays when the resource is sent back, and may be empty", async () => {
    const { path, shown } = await upload();
    assert.equal((await client.put(path, { ...shown, title: "two", docs: [] })).status, 200);
    assert.equal((await client.patch(path, { title: "three" })).status, 200);
    assert.equal((await client.get(`${path}/image`)).body, "png");
    const added = await app.request(`${path}/docs.1`, { method: "PUT", body: "one" });
    assert.equal(added.status, 201);
    const whole = JSON.parse((await client.get(path)).body);
    assert.equal((await client.put(path, whole)).status, 200);
    const empty = [{ op: "replace", path: "/image", value: null }];
    assert.equal((await client.jsonPatch(path, empty)).status, 200);
    assertProblem(await client.get(`${path}/image`), "not-found");
    assert.equal((await client.get(`${path}/docs.1`)).body, "one");
  });

  it("keeps what was stored before the mark, until a file takes its place", async () => {
    await running.define("marked", {});
    const { id } = JSON.parse((await client.post("/marked", { photo: forged, n: 1 })).body);
    const path = `/marked/${id}`;
    await running.define("marked", { schema: { properties: { photo: { format: "file" } } } });
    assert.equal((await client.patch(path, { n: 2 })).status, 200);
    assertProblem(await client.patch(path, { photo: { ...forged, size: 2 } }), "invalid-body");
    const put = await app.request(`${path}/photo`, { method: "PUT", body: "bytes" });
    assert.equal(put.status, 201);
    assert.equal((await client.get(`${path}/photo`)).body, "bytes");
  });

  it("without the mark is data", async () => {
    const { path } = await upload();
    assert.equal((await client.patch(path, { plain: forged })).status, 200);
    assert.deepEqual(JSON.parse((await client.get(path)).body).plain, forged);
  });

  it("can only be a member of the resource, or the items of one", async () => {
    const at = (photo: object) => ({ schema: { properties: { photo } } });
    for (const definition of [
      at({ properties: { inner: { format: "file" } } }),
      at({ anyOf: [{ format: "file" }, { type: "null" }] }),
      at({ items: { items: { format: "file" } } }),
      { schema: { format: "file" } },
    ]) {
      const problem = assertProblem(
        await client.put("/-/collections/wrong", definition),
        "invalid-body",
      );
      assert.match(JSON.stringify(problem.errors), /marks a member of the resource/);
    }
  });

  it("is a read-only result in the OpenAPI document, and a part of the form", async () => {
    const document = JSON.parse((await client.get("/-/openapi.json")).body);
    const { Pictures, PicturesDraft, PicturesForm } = document.components.schemas;
    assert.deepEqual(Object.keys(Pictures.properties).slice(1, 5), [
      ...["title", "image", "docs", "plain"],
    ]);
    assert.ok(Pictures.required.includes("image"));
    assert.deepEqual(Object.keys(PicturesDraft.properties), ["title", "plain"]);
    assert.ok(!PicturesDraft.required?.includes("image"));
    for (const example of PicturesDraft.examples ?? [])
      assert.deepEqual(Object.keys(example), ["title", "plain"]);
    assert.deepEqual(PicturesForm.properties.image, { type: "string", format: "binary" });
    assert.equal(PicturesForm.properties.docs.type, "array");
    assert.ok(PicturesForm.required.includes("image"));
    assert.ok(!JSON.stringify([Pictures, PicturesDraft]).includes('"format":"file"'));
  });
});
