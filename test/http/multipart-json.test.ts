// Parts of a multipart form with a JSON media type: the value of a field is JSON.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";
import { file, form, type Piece, text } from "./multipart.ts";

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp();
  client = new Client(app);
  const tags = { type: "array", items: { type: "string" } };
  const size = { type: "integer" };
  const definition = { schema: { properties: { tags, size, name: { type: "string" } } } };
  await client.put("/-/collections/typed", definition);
});
after(() => app.stop());

const json = (name: string, value: string, type = "application/json"): Piece => ({
  head: [`Content-Disposition: form-data; name="${name}"`, `Content-Type: ${type}`],
  bytes: value,
});

const post = (pieces: readonly Piece[], path = "/open"): Promise<Answer> => {
  const { headers, body } = form(pieces);
  return answerOf(app.request(path, { method: "POST", headers, body }));
};

async function fieldsOf(pieces: readonly Piece[], path?: string): Promise<unknown> {
  const { status, body } = await post(pieces, path);
  assert.equal(status, 201, body);
  const { id: _, createdAt: __, updatedAt: ___, ...fields } = JSON.parse(body);
  return fields;
}

describe("a JSON part", () => {
  it("is JSON, whatever it is, with every media type that means JSON", async () => {
    for (const value of ['{"name":"Ada"}', "[1,[2]]", '"text"', "1.50", "true", "null"])
      assert.deepEqual(await fieldsOf([json("a", value)]), { a: JSON.parse(value) });
    for (const type of ["application/json; charset=utf8", "APPLICATION/JSON", "text/x+json"])
      assert.deepEqual(await fieldsOf([json("a", "{}", type)]), { a: {} });
    assert.deepEqual(await fieldsOf([json("a", "{}", "text/plain")]), { a: "{}" });
  });

  it("keeps numbers as they were written", async () => {
    const { body } = await post([json("a", "[1.50,1e2]")]);
    assert.match(body, /"a":\[1\.50,1e2\]/);
  });

  it("is next to texts and files", async () => {
    const pieces = [text("name", "Ada"), json("at", "{}"), file("photo", "a.png", "png")];
    const { name, at, photo } = (await fieldsOf(pieces)) as Record<string, unknown>;
    assert.deepEqual([name, at, (photo as { name: string }).name], ["Ada", {}, "a.png"]);
  });

  it("is an item where the schema has an array, and one of several elsewhere", async () => {
    const one = [json("tags", '"a"')];
    assert.deepEqual(await fieldsOf(one, "/typed"), { tags: ["a"] });
    assert.deepEqual(await fieldsOf([json("tags", '["a","b"]')], "/typed"), { tags: ["a", "b"] });
    const several = [json("tags", '"a"'), json("tags", '"b"')];
    assert.deepEqual(await fieldsOf(several, "/typed"), { tags: ["a", "b"] });
    assert.deepEqual(await fieldsOf(several), { tags: ["a", "b"] });
    assert.deepEqual(await fieldsOf([json("size", "3")], "/typed"), { size: 3 });
  });

  it("is a file when it has a file name", async () => {
    const { a } = (await fieldsOf([file("a", "a.json", "{}", "application/json")])) as {
      a: { type: string };
    };
    assert.equal(a.type, "application/json");
  });
});

describe("a JSON part is 400", () => {
  const cases: Readonly<Record<string, readonly Piece[]>> = {
    "when it is not JSON": [json("a", "{")],
    "when it is empty": [json("a", "")],
    "when a member is repeated": [json("a", '{"x":1,"x":2}')],
    "when a text has the same name": [json("a", "1"), text("a", "1")],
  };
  for (const [name, pieces] of Object.entries(cases))
    it(name, async () => {
      const problem = assertProblem(await post(pieces), "invalid-body");
      assert.ok(pointersOf(problem).every((pointer) => pointer.startsWith("/a")));
    });

  it("when it is sent twice for one value", async () => {
    const pieces = [json("size", "1"), json("size", "2")];
    assertProblem(await post(pieces, "/typed"), "invalid-body");
  });

  it("when its value does not match the schema", async () => {
    const problem = assertProblem(await post([json("size", '"3"')], "/typed"), "invalid-body");
    assert.deepEqual(pointersOf(problem), ["/size"]);
  });
});
