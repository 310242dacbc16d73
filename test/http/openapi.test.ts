// The OpenAPI document: valid, complete, and correct about what the server returns.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { wholeDocument } from "../../src/http/openapi/document.ts";
import type { Permission } from "../../src/http/request/permission.ts";
import { reservedParameters } from "../../src/http/resources/list-request.ts";
import { problemStatus } from "../../src/http/response/problem.ts";
import { routes } from "../../src/http/routes.ts";
import { problemKinds } from "../../src/model/problem.ts";
import { pageLimits } from "../../src/model/query/list-request.ts";
import { schemaComponents } from "../../src/model/schemas/components.ts";
import { itLong } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { requestEverything, type SampleResponse } from "./every-response.ts";
import { expectProblem } from "./expect.ts";
import {
  assertDescribed,
  type Document,
  describedResponse,
  type Operation,
  operationAt,
} from "./openapi-document.ts";
import { lint } from "./openapi-lint.ts";
import { type Json, resolve, validate } from "./schema.ts";

const methods = ["get", "post", "put", "patch", "delete", "query"] as const;

let app: TestApp;
let document: Document;
/** Before it is simplified for code generators: with every status, and with closed schemas. */
let whole: Document;
before(async () => {
  app = await startApp({ actions: fileURLToPath(new URL("actions", import.meta.url)) });
  const response = await app.request("/-/openapi.json", { token: null });
  assert.equal(response.headers.get("content-type"), "application/json");
  document = (await response.json()) as Document;
  const settings = { base: "", version: "", contract: "", maxBodyBytes: 1_000 };
  whole = wholeDocument(routes, settings, [], []) as unknown as Document;
});
after(() => app.stop());

/** What gives access to a route, as alternatives. */
function securityOf(who: Permission) {
  if (who === "anyone") return [];
  if (who === "optional-token") return [{}, { bearer: [] }];
  if (who === "token") return [{ bearer: [] }];
  if (who === "admin") return [{ bearer: ["admin"] }];
  if (who === "metrics") return [{ bearer: ["metrics"] }];
  if (who === "issue") return [{ bearer: ["admin"] }, { bearer: ["issue:{role}"] }];
  if (who === "action") return [{ bearer: ["action:{name}"] }];
  const verbs = who === "put" ? ["create", "update"] : [who];
  return verbs.map((verb) => ({ bearer: [`{collection}:${verb}`] }));
}

const operations = (of: Document = document) =>
  Object.entries(of.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      return operation === undefined ? [] : [{ path, method, item, operation }];
    }),
  );

/** Replaces each `$ref` with what it refers to, except one to a schema that contains it. */
function inlined(node: unknown, around: readonly unknown[]): unknown {
  if (typeof node !== "object" || node === null) return node;
  if (Array.isArray(node)) return node.map((inner) => inlined(inner, around));
  if ("$ref" in node)
    return around.includes(node.$ref)
      ? node
      : inlined(resolve(whole, node), [...around, node.$ref]);
  return Object.fromEntries(
    Object.entries(node).map(([name, inner]) => [name, inlined(inner, around)]),
  );
}

describe("the OpenAPI document", () => {
  itLong("passes the linter's recommended rules without an error or a warning", async () => {
    assert.deepEqual(await lint(document), { code: 0, problems: [] });
  });

  it("describes every route and method, and no others; QUERY only as OpenAPI 3.2", async () => {
    const response = await app.request("/-/openapi.json?version=3.2", { token: null });
    const newer = (await response.json()) as Document;
    assert.deepEqual([document.openapi, newer.openapi], ["3.1.1", "3.2.0"]);
    const existing = Object.values(routes).map(({ method, path }) => `${method} ${path}`);
    const described = (of: Document) =>
      operations(of).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    assert.deepEqual(described(newer).sort(), existing.sort());
    const known = existing.filter((route) => !route.startsWith("QUERY "));
    assert.deepEqual(described(document).sort(), known);
    await expectProblem(app.request("/-/openapi.json?version=3.0"), "invalid-parameter");
  });

  it("has component names that differ in more than case, whatever their kind", () => {
    const names = Object.values(document.components).flatMap((named) => Object.keys(named));
    const distinct = new Set(names.map((name) => name.toLowerCase()));
    assert.equal(distinct.size, names.length);
    for (const name of names) assert.ok(!distinct.has(`new${name}`.toLowerCase()), name);
  });

  it("contains the schemas that validate, with their limits", () => {
    for (const [name, schema] of Object.entries(schemaComponents)) {
      const described = inlined({ $ref: `#/components/schemas/${name}` }, []);
      assert.deepEqual(described, JSON.parse(JSON.stringify(schema)), name);
    }
  });

  it("requires a token and the scope where the route does", () => {
    for (const { path, method, operation } of operations()) {
      const { permission } = routes[operation.operationId] ?? assert.fail(path);
      assert.deepEqual(operation.security, securityOf(permission), `${method} ${path}`);
    }
  });

  it("has each path parameter, and the limits of pages", () => {
    for (const { path, item } of operations()) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const given = (item.parameters ?? []).map((parameter) => resolve(document, parameter));
      assert.deepEqual(
        given.map(({ name }) => name),
        named,
      );
      for (const { schema } of given)
        assert.ok(schema.pattern ?? schema.format ?? schema.enum, path);
    }
    const asked = (document.paths["/{collection}"]?.get?.parameters ?? []).map((parameter) =>
      resolve(document, parameter),
    );
    const shapes = Object.fromEntries(asked.map(({ name, schema }) => [name, schema]));
    const { maxLimit } = pageLimits;
    assert.deepEqual(
      [shapes.page?.minimum, shapes.limit?.minimum, shapes.limit?.maximum],
      [1, 1, maxLimit],
    );
    for (const name of reservedParameters) assert.ok(Object.hasOwn(shapes, name), name);
  });

  it("has the headers that a change may have", () => {
    const named = ({ operation }: { operation: Operation }) =>
      (operation.parameters ?? []).map((parameter) => resolve(document, parameter).name);
    const changes = operations().filter(({ path }) => !/^\/-\/(?!batch|lines)|^\/$/.test(path));
    const fieldsOf = Object.fromEntries(
      changes.map((change) => [change.operation.operationId, named(change)]),
    );
    const preconditions = ["If-Match", "If-Unmodified-Since", "If-None-Match"];
    const ofCreation = ["If-Match", "If-Unmodified-Since", "Idempotency-Key"];
    const ofUploads = ["Upload-Complete", "Upload-Length"];
    assert.deepEqual(fieldsOf.createResource, [...ofUploads, ...ofCreation, "fields"]);
    const ofLines = ["atomic", "dry-run", "key", "types", "separator"];
    assert.deepEqual(fieldsOf.importResources, [...ofLines, ...ofCreation, "Prefer"]);
    // Its 201 would come without the documented body.
    assert.deepEqual(fieldsOf.upsertResource, preconditions);
    assert.deepEqual(fieldsOf.putResource, [...preconditions, "fields"]);
    const patchFields = [...preconditions, "Idempotency-Key", "fields", "Prefer"];
    assert.deepEqual(fieldsOf.patchResource, patchFields);
    assert.deepEqual(fieldsOf.deleteResource, preconditions);
    assert.deepEqual(fieldsOf.runBatch, ["fields", "Idempotency-Key"]);
  });

  it("contains every status that a problem can have, in an operation or in the description", () => {
    const used = new Set(
      operations(whole).flatMap(({ operation }) => Object.keys(operation.responses)),
    );
    for (const status of Object.values(problemStatus)) {
      const isNamed = used.has(`${status}`) || document.info.description.includes(`${status}`);
      assert.ok(isNamed, `${status}`);
    }
  });

  it("has examples that match their schemas", () => {
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      for (const example of (schema.examples ?? []) as readonly Json[]) {
        validate(example, schema, document, name);
      }
    }
    const kinds = new Set<string>();
    for (const { content = {} } of Object.values(whole.components.responses)) {
      for (const { schema, examples = {} } of Object.values(content)) {
        for (const [kind, { value }] of Object.entries(examples)) {
          validate(value, schema, whole, kind);
          assert.ok(Object.hasOwn(problemKinds, kind));
          kinds.add(kind);
        }
      }
    }
    assert.ok(kinds.size >= 19);
  });

  it("contains the URL of the server", async () => {
    assert.deepEqual(document.servers, [{ url: "/" }]);
    const prefixed = await startApp({ baseUrl: "https://api.example.org/v1" });
    try {
      const other = (await (await prefixed.request("/-/openapi.json")).json()) as Document;
      assert.deepEqual(other.servers, [{ url: "https://api.example.org/v1" }]);
    } finally {
      await prefixed.stop();
    }
  });
});

describe("the responses of the server", () => {
  let stops: readonly SampleResponse[];
  before(async () => {
    stops = await requestEverything(app);
  });

  /** Fields that a generated client relies on: where one is sent, the document says so. */
  const toldInFull = [
    ..."ETag Last-Modified Location Content-Location Link X-Total-Count".split(" "),
    ..."Preference-Applied Idempotency-Replayed Accept Accept-Post Accept-Patch".split(" "),
  ];

  it("match the document: status, media type, headers and body", () => {
    const seen = new Set<string>();
    for (const { asked, status, headers, body } of stops) {
      const [method = "", target = ""] = asked.split(" ");
      const type = headers.get("content-type")?.replace(/;.*/, "");
      const operation = operationAt(whole, { method, target }, status, type);
      if (operation === undefined || status === 308) continue;
      assertDescribed(whole, operation, { status, headers, body }, asked);
      const described = describedResponse(whole, operation, status, type) ?? assert.fail(asked);
      for (const [name, header] of Object.entries(described.headers)) {
        if (!resolve(whole, header).required) continue;
        assert.ok(headers.has(name), `${asked} has no ${name}`);
      }
      // A 304 repeats the fields of the 200 that the client has.
      for (const name of status === 304 ? [] : toldInFull) {
        const isDescribed = Object.hasOwn(described.headers, name);
        assert.ok(isDescribed || !headers.has(name), `${asked}: ${name} is not described`);
      }
      if (body === "") continue;
      seen.add(`${operation.operationId} ${status}`);
    }
    const bodiless = [
      "revokeToken",
      "endCredential",
      "deleteResource",
      "deleteFile",
      "deleteCollection",
    ].concat([
      "getUpload",
      "deleteUpload",
      // The app of a test has no sources to reload; `reload.test.ts` sees the response.
      "reloadSettings",
    ]);
    for (const operation of operations().map(({ operation }) => operation.operationId)) {
      assert.ok(
        bodiless.includes(operation) || [...seen].some((one) => one.startsWith(`${operation} 20`)),
        operation,
      );
    }
  });
});
