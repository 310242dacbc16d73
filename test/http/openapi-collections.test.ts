// Collections in the OpenAPI document: who sees which, and whether they are described correctly.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { itLong } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { answerOf, expectProblem } from "./expect.ts";
import type { Document, Operation } from "./openapi-document.ts";
import { lint } from "./openapi-lint.ts";
import { type Json, resolve, validate } from "./schema.ts";

const people = {
  description: "People we know.",
  schema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      name: { type: "string", minLength: 1 },
      email: { type: "string", format: "email" },
      age: { type: "integer", minimum: 0 },
      limit: { type: "integer" },
      token: { type: "string" },
      password: { type: "string", minLength: 8, writeOnly: true },
      score: { type: "number", readOnly: true },
      home: { $ref: "#/$defs/address" },
      work: { $ref: "#/$defs/address" },
      friends: { type: "array", items: { $ref: "#/$defs/friend" } },
    },
    required: ["name", "email", "password"],
    additionalProperties: false,
    $defs: {
      address: {
        type: "object",
        properties: { city: { type: "string" }, door: { type: "string", writeOnly: true } },
        required: ["city"],
      },
      friend: {
        $anchor: "friend",
        type: "object",
        properties: {
          name: { type: "string" },
          friends: { type: "array", items: { $ref: "#friend" } },
        },
      },
    },
  },
  unique: ["email"],
  indexed: ["age", "home.city"],
  searchable: ["name"],
  access: { read: "owner", update: "owner", delete: "owner" },
};

const shapes = {
  schema: {
    oneOf: [
      {
        properties: { kind: { const: "circle" }, radius: { type: "number", exclusiveMinimum: 0 } },
        required: ["kind", "radius"],
        additionalProperties: false,
      },
      { $ref: "#/$defs/square" },
    ],
    $defs: {
      square: {
        type: "object",
        properties: { kind: { const: "square" }, side: { type: "number", multipleOf: 0.5 } },
        required: ["kind", "side"],
        additionalProperties: false,
      },
    },
  },
};

const orders = {
  schema: {
    properties: {
      code: { type: "string", pattern: "^[A-Z]{3}-[0-9]{4}-[a-f]+$" },
      lines: { type: "array", items: { type: "object" }, minItems: 2 },
    },
    required: ["code"],
  },
  idempotencyKey: "required",
  maxBytes: 1000,
};

let app: TestApp;
let document: Document;
const documentFor = async (token: string | null): Promise<Document> =>
  (await app.request("/-/openapi.json", { token })).json() as Promise<Document>;

before(async () => {
  app = await startApp();
  const client = new Client(app);
  const definitions = {
    people,
    shapes,
    orders,
    news: { access: { read: "public", create: "public" }, cache: { maxAge: 60 } },
    notes: {},
    "a-b": {},
    a_b: {},
    ab: {},
    token: {},
    resources: {},
    "people-draft": {},
    "2024": {},
    file: {},
    list: {},
    batch: {},
    "page-parameter": {},
  };
  for (const [name, definition] of Object.entries(definitions)) {
    const { status, body } = await client.put(`/-/collections/${name}`, definition);
    assert.equal(status, 201, body);
  }
  document = await documentFor(app.admin);
});
after(() => app.stop());

const verbsOf = ({ paths }: Document, name: string) =>
  [`/${name}`, `/${name}/{id}`].flatMap((path) =>
    Object.keys(paths[path] ?? {}).filter((method) => method !== "parameters"),
  );

const operationsOf = ({ paths }: Document): readonly Operation[] =>
  Object.values(paths).flatMap(({ parameters: _, ...operations }) => Object.values(operations));

const named = (name: string): Operation =>
  operationsOf(document).find(({ operationId }) => operationId === name) ?? assert.fail(name);

const parametersOf = (name: string) =>
  Object.fromEntries(
    (named(name).parameters ?? [])
      .map((parameter) => resolve(document, parameter))
      .map((parameter) => [parameter.name, parameter]),
  );

describe("the document of a store with collections", () => {
  for (const scopes of [["admin"], ["people:*"], []]) {
    itLong(`passes the linter's recommended rules: scopes ${scopes}`, async () => {
      const token = scopes.length === 0 ? null : await app.token(...scopes);
      assert.deepEqual(await lint(await documentFor(token)), { code: 0, problems: [] });
    });
  }

  it("has operations and types for each collection, all with different names", () => {
    const ids = operationsOf(document).map(({ operationId }) => operationId);
    assert.equal(new Set(ids.map((id) => id.toLowerCase())).size, ids.length);
    for (const id of ids) assert.match(id, /^[a-z][A-Za-z0-9]*$/);
    const names = Object.values(document.components).flatMap((named) => Object.keys(named));
    assert.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length);
    for (const verb of ["list", "create", "get", "replace", "update", "delete"]) {
      for (const type of [
        "People",
        "Shapes",
        "Token2",
        "Resources2",
        "Type2024",
        "PeopleDraft2",
        "File2",
        "List2",
      ]) {
        assert.ok(ids.includes(`${verb}${type}`), `${verb}${type}`);
      }
    }
  });

  it("describes a resource as it is read, without hidden fields", () => {
    const { People, PeopleHome, PeopleAddress } = document.components.schemas;
    assert.equal(PeopleHome, undefined);
    const { properties, required } = People as { properties: object; required: string[] };
    assert.deepEqual(Object.keys(properties), [
      ..."id name email age limit token score home work friends createdAt updatedAt".split(" "),
    ]);
    assert.deepEqual(required, ["id", "name", "email", "createdAt", "updatedAt"]);
    assert.deepEqual(PeopleAddress, {
      type: "object",
      required: ["city"],
      properties: { city: { type: "string" } },
      additionalProperties: {},
    });
  });

  it("describes what can be sent, without fields that only the server or an admin sets", () => {
    const { PeopleDraft, PeopleDraftAddress, PeoplePatch } = document.components.schemas;
    const { properties, required } = PeopleDraft as { properties: object; required: string[] };
    assert.deepEqual(Object.keys(properties), [
      ..."name email age limit token password home work friends".split(" "),
    ]);
    assert.deepEqual(required, ["name", "email", "password"]);
    assert.deepEqual(Object.keys(PeopleDraftAddress?.properties ?? {}), ["city", "door"]);
    assert.equal(PeoplePatch?.required, undefined);
    validate({ age: null, name: "Ada" }, PeoplePatch ?? {}, document);
    assert.throws(() => validate({ name: null }, PeoplePatch ?? {}, document));
  });

  it("has references that point to the same schemas as before", () => {
    const text = JSON.stringify(document);
    assert.ok(!/"\$(?:defs|id|schema|anchor)":(?!\{"type":"string")/.test(text));
    const { PeopleFriend } = document.components.schemas;
    const friend = { name: "Ada", friends: [{ name: "Bob", friends: [] }] };
    validate(friend, PeopleFriend ?? {}, document);
    assert.throws(() => validate({ friends: [{ name: 1 }] }, PeopleFriend ?? {}, document));
    for (const [, name = ""] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      assert.ok(Object.hasOwn(document.components.schemas, name), name);
    }
  });

  it("has examples that the server accepts, and none where it cannot make one", async () => {
    const { PeopleDraft, OrdersDraft, People, ShapesDraft } = document.components.schemas;
    const [example] = (PeopleDraft?.examples ?? []) as readonly Json[];
    await app.post("people", example);
    await app.post("shapes", (ShapesDraft?.examples as readonly Json[] | undefined)?.[0]);
    assert.equal(OrdersDraft?.examples, undefined);
    const [shown] = (People?.examples ?? []) as readonly Json[];
    validate(shown ?? null, People ?? {}, document);
  });

  it("lists the fields that can be queried, with operators where they are indexed", () => {
    const parameters = parametersOf("listPeople");
    const names = Object.keys(parameters);
    for (const name of [
      ..."page limit sort cursor total q createdAt[gte] email email[in] home.city".split(" "),
      ..."age age[gte] age[lt]".split(" "),
    ]) {
      assert.ok(names.includes(name), name);
    }
    // Never shown, would look like a credential, not indexed, an object, or of another shape.
    for (const name of ["password", "token", "name", "age[ne]", "home", "fields", "since"]) {
      assert.ok(!names.includes(name), name);
    }
    assert.deepEqual(parameters["age[gte]"]?.schema, { type: "integer", format: "int64" });
    assert.ok(!Object.hasOwn(parametersOf("listNotes"), "q"));
  });

  it("has parameters that the server accepts", async () => {
    for (const list of ["listPeople", "listShapes", "listNotes"]) {
      const path = list.slice("list".length).toLowerCase();
      for (const { name, in: place, schema } of Object.values(parametersOf(list))) {
        if (place !== "query") continue;
        const { type, format, enum: values } = schema;
        const kinds: Readonly<Record<string, string>> = {
          integer: "1",
          number: "1",
          boolean: "true",
        };
        const time = format === "date-time" ? "2026-11-15T09:30:00Z" : undefined;
        const texts: Readonly<Record<string, string>> = {
          cursor: "",
          sort: "-createdAt",
          where: '{"createdAt":{"exists":true}}',
        };
        const fallback = texts[name] ?? "name";
        const value = (values as Json[] | undefined)?.[0] ?? time ?? kinds[`${type}`] ?? fallback;
        const query = new URLSearchParams({ [name]: `${value}` });
        const { status, body } = await answerOf(app.request(`/${path}?${query}`));
        assert.equal(status, 200, `${path}?${query} ${body}`);
      }
    }
  });

  it("describes what a collection requires", () => {
    const key = (name: string) => parametersOf(name)["Idempotency-Key"]?.required ?? false;
    assert.deepEqual([key("createOrders"), key("createNotes")], [true, false]);
    const { requestBody } = named("createOrders") as { requestBody?: { description?: string } };
    assert.match(requestBody?.description ?? "", /at most 1000 bytes/);
    assert.equal(
      document.tags.find(({ name }) => name === "people")?.description,
      people.description,
    );
  });

  it("requires no token for public operations, and the scope for others", () => {
    assert.deepEqual(named("listNews").security, [{}, { bearer: ["news:read"] }]);
    assert.deepEqual(named("updateNews").security, [{ bearer: ["news:update"] }]);
    assert.deepEqual(named("replaceNews").security, [
      {},
      { bearer: ["news:create"] },
      { bearer: ["news:update"] },
    ]);
    assert.deepEqual(named("listPeople").security, [{ bearer: ["people:read"] }]);
  });
});

describe("collections in the document", () => {
  it("that are public are shown to everyone, with only the public operations", async () => {
    const open = await documentFor(null);
    assert.deepEqual(verbsOf(open, "news"), ["get", "post", "get", "put"]);
    for (const name of ["people", "notes", "orders"]) assert.deepEqual(verbsOf(open, name), []);
    assert.ok(!JSON.stringify(open).includes("People we know"));
    assert.ok(Object.hasOwn(open.paths, "/{collection}"));
  });

  it("are shown to a token by its scopes, together with public ones", async () => {
    const scoped = await documentFor(await app.token("people:read", "notes:delete"));
    assert.deepEqual(verbsOf(scoped, "people"), ["get", "get"]);
    assert.deepEqual(verbsOf(scoped, "notes"), ["delete"]);
    assert.deepEqual(verbsOf(scoped, "orders"), []);
    assert.deepEqual(verbsOf(scoped, "news"), ["get", "post", "get", "put"]);
    const reader = await documentFor(await app.token("*:read"));
    assert.deepEqual(verbsOf(reader, "orders"), ["get", "get"]);
  });

  it("are all shown to an admin", () => {
    for (const name of ["people", "shapes", "orders", "news", "notes", "token"]) {
      const verbs = verbsOf(document, name).join();
      assert.match(verbs, /^get,post,(?:put,)?get,put,patch,delete$/, name);
    }
  });

  it("need a valid token if one is sent", async () => {
    await expectProblem(app.request("/-/openapi.json", { token: "wrong" }), "unauthenticated");
    const basic = { authorization: "Basic YTpi" };
    await expectProblem(
      app.request("/-/openapi.json", { headers: basic, token: null }),
      "unauthenticated",
    );
  });

  it("have a different ETag for each caller, which changes with the definitions only", async () => {
    const ask = (token: string | null, headers = {}) =>
      answerOf(app.request("/-/openapi.json", { token, headers }));
    const mine = await ask(app.admin);
    assert.equal(mine.headers.get("cache-control"), "private, no-cache");
    const vary = (mine.headers.get("vary") ?? "").split(", ");
    assert.ok(vary.includes("Accept") && vary.includes("Authorization"));
    assert.equal(mine.headers.get("last-modified"), null);
    const tag = mine.headers.get("etag") ?? "";
    assert.notEqual((await ask(null)).headers.get("etag"), tag);
    await app.post("notes", {});
    const again = await ask(app.admin, { "if-none-match": tag });
    assert.deepEqual([again.status, again.body], [304, ""]);
    for (const name of ["etag", "cache-control", "vary"]) {
      assert.equal(again.headers.get(name), mine.headers.get(name));
    }
    const later = new Date(Date.now() + 60_000).toUTCString();
    assert.equal((await ask(app.admin, { "if-modified-since": later })).status, 200);
    await new Client(app).put("/-/collections/notes", { searchable: ["text"] });
    const changed = await ask(app.admin, { "if-none-match": tag });
    assert.equal(changed.status, 200);
    await new Client(app).put("/-/collections/notes", {});
  });
});

describe("a collection that names its singular", () => {
  it("has types and operations by that name, and a number where it is taken", async () => {
    const client = new Client(app);
    const schema = { properties: { title: { type: "string" } } };
    await client.put("/-/collections/books", { singular: "book", schema });
    await client.put("/-/collections/pages", { singular: "page" });
    const named = await documentFor(app.admin);
    const ids = operationsOf(named).map(({ operationId }) => operationId);
    for (const id of "listBooks createBook getBook replaceBook updateBook deleteBook".split(" "))
      assert.ok(ids.includes(id), id);
    const types = ["Book", "BookDraft", "BookPatch", "BookPage", "Page2", "Page2Draft"];
    for (const type of types) assert.ok(named.components.schemas[type], type);
    await expectProblem(
      app.request("/-/collections/books", {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: '{"singular":"A book"}',
      }),
      "invalid-body",
    );
  });
});

describe("a form with files", () => {
  it("is described with its texts, objects and files", async () => {
    const image = { type: "object", properties: { type: { enum: ["image/png"] }, size: {} } };
    const properties = {
      title: { type: "string" },
      author: { type: "object", properties: { name: { type: "string" } } },
      cover: image,
      pictures: { type: "array", items: image },
    };
    await new Client(app).put("/-/collections/albums", {
      schema: { type: "object", properties, required: ["title"], additionalProperties: false },
    });
    const { paths, components } = await documentFor(app.admin);
    const content = paths["/albums"]?.post?.requestBody?.content ?? {};
    assert.deepEqual(Object.keys(content), ["application/json", "multipart/form-data"]);
    const binary = { type: "string", format: "binary" };
    const author = { ...properties.author, additionalProperties: {} };
    // Without a file in the schema its type would be that of the JSON.
    assert.ok(!("multipart/form-data" in (paths["/notes"]?.post?.requestBody?.content ?? {})));
    const reference = { $ref: "#/components/schemas/AlbumsForm" };
    assert.deepEqual(content["multipart/form-data"]?.schema, reference);
    assert.deepEqual(components.schemas.AlbumsForm, {
      type: "object",
      required: ["title"],
      properties: {
        ...properties,
        author,
        cover: binary,
        pictures: { type: "array", items: binary },
      },
      additionalProperties: false,
    });
  });
});

describe("the document for code generators", () => {
  /** Every object below a value, with its path. */
  function* objectsIn(
    value: unknown,
    path = "",
  ): Generator<readonly [path: string, object: object]> {
    if (typeof value !== "object" || value === null) return;
    if (!Array.isArray(value)) yield [path, value];
    for (const [name, inner] of Object.entries(value))
      if (name !== "examples" && name !== "example") yield* objectsIn(inner, `${path}/${name}`);
  }

  /** The paths of the schemas that the responses use, also through others. */
  function responseSchemas({ paths, components }: Document): readonly object[] {
    const seen = new Map<string, unknown>();
    const use = (value: unknown): void => {
      for (const [, object] of objectsIn(value)) {
        const { $ref } = object as { $ref?: string };
        if ($ref === undefined || seen.has($ref)) continue;
        seen.set($ref, resolve({ paths, components }, { $ref }));
        use(seen.get($ref));
      }
    };
    const responses = operationsOf({ paths } as Document).map((operation) => {
      const { "X-Form-Type": _, ...headers } = operation.responses["201"]?.headers ?? {};
      return Object.entries(operation.responses).map(([status, response]) =>
        status === "201" ? { ...response, headers } : response,
      );
    });
    use(responses);
    return [responses, ...seen.values()] as readonly object[];
  }

  it("has a body only where one always comes, items for each array, and no value of several types", async () => {
    const document = await documentFor(app.admin);
    const { responses } = document.paths["/{collection}/{id}/{name}"]?.put ?? {};
    assert.ok(responses?.["201"] && responses["201"].content === undefined);
    assert.ok(responses["200"]?.content);
    for (const [path, object] of objectsIn(document)) {
      const { type, items } = object as { type?: unknown; items?: unknown };
      if (!Array.isArray(type) && typeof type !== "string") continue;
      const types = [type].flat().filter((one) => one !== "null");
      assert.ok(types.length <= 1, path);
      if (types.includes("array")) assert.ok(items !== undefined, path);
    }
  });

  it("has no body in a 201 for who may not read, and no limit that is not one", async () => {
    const writer = await documentFor(await app.token("people:create"));
    assert.equal(writer.paths["/people"]?.post?.responses["201"]?.content, undefined);
    const document = await documentFor(app.admin);
    const described = (path: string, method: string): unknown =>
      Object.entries(document.paths[path]?.[method]?.requestBody ?? {}).find(
        ([name]) => name === "description",
      )?.[1];
    assert.equal(described("/-/uploads/{id}", "patch"), undefined);
    assert.equal(described("/-/lines/{collection}", "post"), undefined);
    assert.match(`${described("/{collection}", "post")}`, /bytes without files\.$/);
    assert.match(`${described("/people", "post")}`, /bytes\.$/);
    const { where } = parametersOf("listPeople");
    assert.deepEqual(where?.schema, {
      type: "string",
      minLength: 2,
      contentMediaType: "application/json",
    });
  });

  it("has NDJSON and CSV in operations of their own, with their parameters", async () => {
    const document = await documentFor(app.admin);
    const found = operationsOf(document).filter((operation) =>
      /ndjson|csv/i.test(JSON.stringify([operation.requestBody, operation.responses])),
    );
    const ids = found.map(({ operationId }) => operationId);
    assert.deepEqual(ids, ["exportResources", "importResources"]);
    const [exported, imported] = found;
    const lines = ["application/x-ndjson", "text/csv"];
    assert.deepEqual(Object.keys(exported?.responses["200"]?.content ?? {}), lines);
    assert.deepEqual(Object.keys(imported?.requestBody?.content ?? {}), lines);
    for (const id of ["createPeople", "createResource"])
      assert.equal(parametersOf(id).atomic, undefined);
    const { responses } = document.paths["/people"]?.post ?? {};
    assert.deepEqual(Object.keys(responses?.["201"]?.content ?? {}), ["application/json"]);
    assert.equal(responses?.["2XX"], undefined);
  });

  it("has open responses, without defaults and without patterns of ids", async () => {
    const current = await documentFor(app.admin);
    for (const schema of responseSchemas(current))
      for (const [path, object] of objectsIn(schema)) {
        const { additionalProperties } = object as Record<string, unknown>;
        assert.notEqual(additionalProperties, false, path);
        const isSchema = Object.hasOwn(object, "type") || Object.hasOwn(object, "properties");
        if (!isSchema || path.endsWith("/properties")) continue;
        for (const keyword of ["default", "readOnly", "writeOnly"])
          assert.ok(!Object.hasOwn(object, keyword), `${path} has ${keyword}`);
      }
    const { properties } = current.components.schemas.People as {
      properties: Record<string, object>;
    };
    assert.deepEqual(properties.id, { type: "string" });
    assert.deepEqual(properties.createdAt, { type: "string", format: "date-time" });
  });

  it("has at most 45 parameters in an operation, each of one type and without a default", async () => {
    const fields = Array.from({ length: 60 }, (_, index) => `f${index}`);
    const properties = Object.fromEntries(fields.map((name) => [name, { type: "number" }]));
    await new Client(app).put("/-/collections/wide", { schema: { properties }, indexed: fields });
    const current = await documentFor(app.admin);
    for (const { operationId, parameters = [] } of operationsOf(current)) {
      assert.ok(parameters.length <= 45, `${operationId}: ${parameters.length}`);
      for (const { name, schema } of parameters.map((each) => resolve(current, each))) {
        assert.equal(typeof schema.type, "string", `${operationId} ${name}`);
        assert.ok(!Object.hasOwn(schema, "default"), `${operationId} ${name}`);
      }
    }
  });

  it("has no enum without a type, and none of numbers or booleans", async () => {
    for (const [path, object] of objectsIn(await documentFor(app.admin))) {
      const { enum: values, type } = object as Record<string, unknown>;
      if (!Array.isArray(values)) continue;
      assert.equal(type, "string", path);
      assert.ok(
        values.every((value) => typeof value === "string"),
        path,
      );
    }
  });
});
