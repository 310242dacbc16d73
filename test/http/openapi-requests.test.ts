// Requests that are drawn from the OpenAPI document are not malformed for the server, and its answers fit the document.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "../fast-check.ts";
import { runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { valuesOf } from "./draw-value.ts";
import { answerOf } from "./expect.ts";
import type { Document, Media, Operation, Parameter } from "./openapi-document.ts";
import { type JsonObject, resolve } from "./schema.ts";

/** Definitions with what is unusual in schemas. */
const definitions: Readonly<Record<string, object>> = {
  books: {
    schema: {
      type: "object",
      required: ["title", "author"],
      properties: {
        title: { type: "string", minLength: 1, maxLength: 200 },
        year: { type: "integer", minimum: 1450, maximum: 2100 },
        price: { type: "number", minimum: 0 },
        isbn: { type: "string", pattern: "^97[89][0-9]{10}$" },
        status: { enum: ["draft", "in-print"], default: "draft" },
        subtitle: { type: ["string", "null"] },
        rating: { anyOf: [{ type: "integer" }, { type: "null" }] },
        published: { type: "string", format: "date" },
        author: { $ref: "#/$defs/author" },
        size: { oneOf: [{ type: "string" }, { type: "object", required: ["width"] }] },
        note: { type: "string", writeOnly: true },
      },
      additionalProperties: false,
      $defs: {
        author: {
          type: "object",
          required: ["name"],
          properties: { name: { type: "string" }, email: { type: "string", format: "email" } },
        },
      },
    },
    unique: ["isbn"],
    indexed: ["year", "price", "author.name", "published", "status"],
    searchable: ["title"],
  },
  odd: {
    schema: {
      type: "object",
      properties: {
        any: true,
        never: false,
        "odd name": { type: "boolean" },
        sort: { type: "string" },
        limit: { type: "integer" },
        at: { type: "string", format: "date-time" },
        tree: { $ref: "#/$defs/tree" },
        pairs: { type: "object", additionalProperties: { type: "number" } },
        rank: { type: "integer", readOnly: true },
      },
      $defs: { tree: { type: "object", properties: { next: { $ref: "#/$defs/tree" } } } },
    },
    indexed: ["at", "odd name", "limit"],
  },
  open: {},
  strict: { preconditions: "required", idempotencyKey: "required" },
};

/** What a schema cannot say: rules between parameters, and what becomes of a resource by a patch. */
const explained = [
  /cannot be combined with/,
  /is in sort twice/,
  /leave the id out, or PUT/,
  /__proto__ is not accepted as a name/,
  /at most 100 conditions are allowed/,
  /this is not a cursor/,
  // A declared field can have any name.
  /is no field(?: with an operator)?; write/,
  /a search ordered by rank has no cursor/,
  /send 1 to 20 words of letters or digits/,
  /"title":"The body is not valid".*"detail":"\w+ is required"/,
  /The Idempotency-Key belongs to another request/,
];

interface Drawn {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

let app: TestApp;
let document: Document;
before(async () => {
  app = await startApp();
  const client = new Client(app);
  for (const [name, definition] of Object.entries(definitions)) {
    const { status, body } = await client.put(`/-/collections/${name}`, definition);
    assert.equal(status, 201, body);
  }
  document = (await (await app.request("/-/openapi.json")).json()) as Document;
});
after(() => app.stop());

/** Values of the parameters as they are sent: required ones always, others sometimes. */
function parametersOf(parameters: readonly Parameter[]): fc.Arbitrary<Record<string, string>> {
  const values = parameters.map(({ name, schema }) => [
    name,
    valuesOf(schema, document).map((value) => String(value)),
  ]);
  const requiredKeys = parameters.filter(({ required }) => required).map(({ name }) => name);
  return fc.record(Object.fromEntries(values), { requiredKeys });
}

/** JSON of a media type, if the operation takes one that is JSON. */
function bodiesOf({ requestBody }: Operation): fc.Arbitrary<readonly [string, string] | undefined> {
  const content = requestBody === undefined ? {} : resolve(document, requestBody).content;
  const json = Object.entries(content).filter(([type]) => /^application\/(.+\+)?json$/.test(type));
  if (json.length === 0) return fc.constant(undefined);
  return fc.oneof(
    ...json.map(([type, { schema }]: [string, Media]) =>
      valuesOf(schema, document).map((value) => [type, JSON.stringify(value)] as const),
    ),
  );
}

/** Requests of an operation, to one of these ids where it has one. */
function requestsOf(method: string, path: string, ids: readonly string[]): fc.Arbitrary<Drawn> {
  const item = document.paths[path] ?? assert.fail(path);
  const operation = item[method] ?? assert.fail(`${method} ${path}`);
  const given = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((parameter) =>
    resolve(document, parameter),
  );
  // What JSON in a parameter may contain depends on the collection.
  const isDrawn = ({ schema }: Parameter) => schema.contentMediaType === undefined;
  const of = (place: string) =>
    parametersOf(given.filter((one) => one.in === place && isDrawn(one)));
  const chosen = ids.length === 0 ? of("path") : fc.oneof(of("path"), idsAsPath(ids, of("path")));
  return fc
    .tuple(chosen, of("query"), of("header"), bodiesOf(operation))
    .map(([inPath, query, headers, body]) => {
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(inPath[name] ?? ""),
      );
      const words = new URLSearchParams(query).toString();
      return {
        method: method.toUpperCase(),
        path: words === "" ? filled : `${filled}?${words}`,
        headers: body === undefined ? headers : { ...headers, "content-type": body[0] },
        ...(body !== undefined && { body: body[1] }),
      };
    });
}

type Values = fc.Arbitrary<Record<string, string>>;

const idsAsPath = (ids: readonly string[], drawn: Values): Values =>
  fc.tuple(drawn, fc.constantFrom(...ids)).map(([given, id]) => ({ ...given, id }));

const methods = ["post", "get", "put", "patch", "delete"];

describe("a request drawn from the document", () => {
  for (const path of Object.keys(definitions).flatMap((name) => [`/${name}`, `/${name}/{id}`])) {
    it(`is not malformed: ${path}`, async () => {
      const ids: string[] = [];
      const described = methods.filter((method) => document.paths[path]?.[method] !== undefined);
      assert.ok(described.length >= 2);
      for (const method of described) {
        const property = fc.asyncProperty(requestsOf(method, path, ids), async (drawn) => {
          const { path: target, ...init } = drawn;
          const { status, body } = await answerOf(app.request(target, init));
          const isRejected = [400, 405, 406, 415, 422].includes(status) || status >= 500;
          const isRight = !isRejected || explained.some((reason) => reason.test(body));
          assert.ok(isRight, `${status} ${body}`);
          if (status === 201) ids.push(idIn(body));
        });
        await fc.assert(property, { numRuns: runs(6, 300) });
      }
    });
  }
});

/** The id of what was created; empty with `return=minimal`. */
const idIn = (body: string): string =>
  body.startsWith("{") ? String((JSON.parse(body) as JsonObject).id) : "none";
