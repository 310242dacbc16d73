// The OpenAPI document: valid, complete, and true of what the server really answers.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { Who } from "../../src/http/guard.ts";
import { problemStatus } from "../../src/http/problem.ts";
import { routes } from "../../src/http/routes.ts";
import { pageLimits } from "../../src/model/page.ts";
import { problemKinds } from "../../src/model/problem.ts";
import { startApp, type TestApp } from "./app.ts";
import { type Stop, walk } from "./round.ts";
import { type Json, type JsonObject, resolve, validate } from "./schema.ts";

interface Media {
  readonly schema: JsonObject;
  readonly examples?: Readonly<Record<string, { readonly value: Json }>>;
}
interface Described {
  readonly headers: Readonly<Record<string, { readonly required?: boolean }>>;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: JsonObject;
}
interface Operation {
  readonly operationId: string;
  readonly security: readonly { readonly bearer: readonly string[] }[];
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, Described>>;
}
type Item = { readonly parameters?: readonly Parameter[] } & Readonly<Record<string, Operation>>;
interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Item>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonObject>>;
    readonly responses: Readonly<Record<string, Described>>;
  };
}

const methods = ["get", "post", "put", "patch", "delete"] as const;

let app: TestApp;
let document: Document;
before(async () => {
  app = await startApp();
  const response = await app.request("/-/openapi.json", { token: null });
  assert.equal(response.headers.get("content-type"), "application/json");
  document = (await response.json()) as Document;
});
after(() => app.stop());

/** What opens a door, as alternatives. */
function securityOf(who: Who) {
  if (who === "anyone") return [];
  if (who === "token") return [{ bearer: [] }];
  if (who === "admin") return [{ bearer: ["admin"] }];
  const verbs = who === "put" ? ["create", "update"] : [who];
  return verbs.map((verb) => ({ bearer: [`{collection}:${verb}`] }));
}

const operations = () =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      return operation === undefined ? [] : [{ path, method, item, operation }];
    }),
  );

/** Redocly's linter, whose command needs a newer Node than the machine may have. */
async function lint(file: string): Promise<{ code: number; output: string }> {
  const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));
  const child = spawn(
    join(modules, ".bin/node"),
    [join(modules, "@redocly/cli/bin/cli.js"), "lint", "--format=json", file],
    { env: { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", HOME: tmpdir() } },
  );
  const [code, output] = await Promise.all([
    new Promise<number>((done) => child.on("close", (status) => done(status ?? -1))),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, output };
}

describe("the OpenAPI document", () => {
  it("(251) passes the linter's recommended rules without an error or a warning", async () => {
    const folder = await mkdtemp(join(tmpdir(), "restante-openapi-"));
    try {
      const file = join(folder, "openapi.json");
      await writeFile(file, JSON.stringify(document));
      const { code, output } = await lint(file);
      assert.equal(code, 0, output);
      const { totals } = JSON.parse(output) as { totals: Record<string, number> };
      assert.deepEqual(totals, { errors: 0, warnings: 0, ignored: 0 }, output);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("describes every route and method, and none that does not exist", () => {
    const existing = Object.entries(routes).flatMap(([route, doors]) =>
      Object.keys(doors).map((method) => `${method} ${route.replace(/:(\w+)/g, "{$1}")}`),
    );
    const described = operations().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    assert.deepEqual(described.sort(), existing.sort());
  });

  it("asks for a token, and for the scope, where the route does", () => {
    for (const { path, method, operation } of operations()) {
      const door = routes[path.replace(/\{(\w+)\}/g, ":$1")]?.[method.toUpperCase() as "GET"];
      const wanted = securityOf(door?.who ?? assert.fail(path));
      assert.deepEqual(operation.security, wanted, `${method} ${path}`);
    }
  });

  it("has each parameter of a path, and the bounds and defaults of a page", () => {
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
    const [page, limit, sort, since] = (document.paths["/{collection}"]?.get?.parameters ?? []).map(
      (parameter) => resolve(document, parameter).schema,
    );
    assert.deepEqual(page, { type: "integer", minimum: 1, default: 1 });
    const { maxLimit, defaultLimit } = pageLimits;
    assert.deepEqual(limit, {
      type: "integer",
      minimum: 1,
      maximum: maxLimit,
      default: defaultLimit,
    });
    assert.deepEqual(sort, {
      type: "string",
      enum: ["createdAt", "-createdAt"],
      default: "createdAt",
    });
    assert.deepEqual(since, { type: "integer", minimum: 0 });
  });

  it("has the header fields that a change may carry", () => {
    const named = ({ operation }: { operation: Operation }) =>
      (operation.parameters ?? []).map((parameter) => resolve(document, parameter).name);
    const changes = operations().filter(({ path }) => !/^\/-\/(?!batch)|^\/$/.test(path));
    const fieldsOf = Object.fromEntries(
      changes.map((change) => [change.operation.operationId, named(change)]),
    );
    const preconditions = ["If-Match", "If-Unmodified-Since", "If-None-Match"];
    assert.deepEqual(fieldsOf.createResource, ["Idempotency-Key", "Prefer"]);
    assert.deepEqual(fieldsOf.putResource, [...preconditions, "Prefer"]);
    assert.deepEqual(fieldsOf.patchResource, [...preconditions, "Prefer"]);
    assert.deepEqual(fieldsOf.deleteResource, preconditions);
    assert.deepEqual(fieldsOf.runBatch, ["Idempotency-Key"]);
  });

  it("knows every status that a problem can have, with an operation or in words", () => {
    const used = new Set(operations().flatMap(({ operation }) => Object.keys(operation.responses)));
    for (const status of Object.values(problemStatus)) {
      const isNamed = used.has(`${status}`) || document.info.description.includes(`${status}`);
      assert.ok(isNamed, `${status}`);
    }
  });

  it("has examples that fit their schemas", () => {
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      for (const example of (schema.examples ?? []) as readonly Json[]) {
        validate(example, schema, document, name);
      }
    }
    const kinds = new Set<string>();
    for (const { content = {} } of Object.values(document.components.responses)) {
      for (const { schema, examples = {} } of Object.values(content)) {
        for (const [kind, { value }] of Object.entries(examples)) {
          validate(value, schema, document, kind);
          assert.ok(Object.hasOwn(problemKinds, kind));
          kinds.add(kind);
        }
      }
    }
    assert.ok(kinds.size >= 19);
  });

  it("names the server that it describes", async () => {
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

describe("what the server answers", () => {
  let stops: readonly Stop[];
  before(async () => {
    stops = await walk(app);
  });

  /** The operation that was asked for, if it is one. */
  function operationOf(asked: string) {
    const [method = "", target = ""] = asked.split(" ");
    const path = target.split("?")[0] ?? "";
    const found = operations().filter((candidate) => {
      const shape = candidate.path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+");
      return new RegExp(`^${shape}$`).test(path);
    });
    // A fixed path wins over one with parameters, as OpenAPI has it.
    const isFixed = found.some(({ path }) => !path.startsWith("/{"));
    return found.find(
      ({ method: own, path: shape }) =>
        own === (method === "HEAD" ? "get" : method.toLowerCase()) &&
        shape.startsWith("/{") !== isFixed,
    )?.operation;
  }

  /** Fields that a generated client relies on: where one is sent, the document says so. */
  const toldInFull = [
    ..."ETag Last-Modified Location Content-Location Link X-Total-Count".split(" "),
    ..."Preference-Applied Idempotency-Replayed Accept Accept-Post Accept-Patch".split(" "),
  ];

  it("is described: status, media type, header fields and body", () => {
    const seen = new Set<string>();
    for (const { asked, status, headers, body } of stops) {
      const operation = operationOf(asked);
      if (operation === undefined || status === 308) continue;
      const listed = operation.responses[status];
      assert.ok(listed !== undefined, `${asked} is not described`);
      const described = resolve(document, listed);
      const type = headers.get("content-type")?.replace(/;.*/, "");
      for (const [name, header] of Object.entries(described.headers)) {
        if (!resolve(document, header).required) continue;
        assert.ok(headers.has(name), `${asked} has no ${name}`);
      }
      // A 304 repeats the fields of the 200 that the client has.
      for (const name of status === 304 ? [] : toldInFull) {
        const isDescribed = Object.hasOwn(described.headers, name);
        assert.ok(isDescribed || !headers.has(name), `${asked}: ${name} is not described`);
      }
      if (type === undefined || body === "") continue;
      const media = described.content?.[type];
      assert.ok(media !== undefined, `${asked}: ${type} is not described`);
      const value: Json = type.endsWith("json") ? JSON.parse(body) : body;
      validate(value, media.schema, document, asked);
      seen.add(`${operation.operationId} ${status}`);
    }
    const bodiless = ["revokeToken", "deleteResource"];
    for (const operation of operations().map(({ operation }) => operation.operationId)) {
      assert.ok(
        bodiless.includes(operation) || [...seen].some((one) => one.startsWith(`${operation} 20`)),
        operation,
      );
    }
  });
});
