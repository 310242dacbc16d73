// Field names that objects inherit or that programs misinterpret, in every feature.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { isLong } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { answerOf } from "./expect.ts";

const names = [
  ...["constructor", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf"],
  ...["toLocaleString", "propertyIsEnumerable", "__defineGetter__", "__lookupSetter__"],
  ...["prototype", "length", "name", "then", "toJSON", "get", "size", "null", "0", "-1", "a b"],
  ...["$ref", "x-y", "é", "\u0000", "'", "a/b", "a~b", "a%b", "NaN", "undefined", "default"],
];
/** A part of the names, and all of them in `npm run test:long`. */
const tried = isLong ? names : names.filter((_, index) => index % 4 === 0);
const stores = storesHere("sqlite", ["sqlite", "postgres"] as const);
const form = { "content-type": "application/x-www-form-urlencoded" };
const field = encodeURIComponent;

for (const store of stores) {
  describe(`a field with an unusual name, on ${store}`, () => {
    let app: TestApp;
    let client: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      client = new Client(app);
    });
    after(() => app.stop());

    for (const [index, name] of tried.entries()) {
      it(`${JSON.stringify(name)} works like any other`, async () => {
        const at = `/typed-${index}`;
        const open = `/open-${index}`;
        const answers = async (status: number, answer: ReturnType<Client["get"]>) => {
          const { status: actual, body } = await answer;
          assert.equal(actual, status, body);
          return body;
        };
        const ask = async (target: string, question: unknown) =>
          answerOf(
            await app.request(target, {
              method: "QUERY",
              headers: { "content-type": "application/json" },
              body: JSON.stringify(question),
            }),
          );
        const path = name.replaceAll("~", "~0").replaceAll("/", "~1");
        const inner = { type: "object", properties: { [name]: { type: "number" } } };
        const schema = {
          $defs: { [name]: inner, named: { const: 1 } },
          properties: {
            [name]: { type: "string" },
            inner,
            other: { $ref: `#/$defs/${field(path)}` },
          },
          required: [name],
          dependentRequired: { [name]: [name] },
          dependentSchemas: { [name]: { not: { required: ["never"] } } },
          oneOf: [
            { properties: { [name]: { const: "a" } } },
            { properties: { [name]: { minLength: 2 } } },
          ],
        };
        const fields = { indexed: [name, `inner.${name}`], searchable: [name] };
        await answers(201, client.put(`/-/collections${at}`, { schema, ...fields }));
        await answers(201, client.post(at, { [name]: "abc", inner: { [name]: 1 }, other: {} }));
        assert.match(await answers(400, client.post(at, {})), /is required/);
        await answers(400, client.post(at, { [name]: 5 }));
        await answers(400, client.post(at, { [name]: "abc", other: { [name]: "x" } }));
        await answers(201, client.put(`${at}/x`, { [name]: "abd" }));
        await answers(200, client.patch(`${at}/x`, { [name]: "abe", more: { [name]: null } }));
        const operations = [{ op: "replace", path: `/${path}`, value: "abf" }];
        await answers(200, client.jsonPatch(`${at}/x`, operations));
        const found = async (query: string) =>
          JSON.parse(await answers(200, client.get(`${at}?${query}`))).total as number;
        assert.equal(await found(`${field(name)}[eq]=abc`), 1);
        assert.equal(await found(`${field(name)}[gt]=abc`), 1);
        assert.equal(await found(`inner.${field(name)}[eq]=1`), 1);
        assert.equal(await found("q=abf"), 1);
        assert.equal(await found(`sort=${field(name)}&fields=${field(name)}`), 2);
        await answers(400, client.get(`${at}?a[${field(name)}]=1`));
        const question = { where: { [name]: { eq: "abc" } }, sort: name, fields: [name] };
        await answers(200, ask(at, question));
        await answers(400, ask(at, { where: { a: { [name]: 1 } } }));
        await answers(400, client.post("/-/batch", { operations: [{ method: name, path: at }] }));
        const operation = { method: "POST", path: at, body: { [name]: "batch" } };
        await answers(200, client.post("/-/batch", { operations: [operation] }));
        const pairs = `${field(name)}=form&inner[${field(name)}]=3`;
        await answers(201, client.post(at, pairs, { ...form, accept: "application/json" }));
        assert.equal(await found(`inner.${field(name)}[eq]=3`), 1);
        const csv = await answers(200, client.get(at, { accept: "text/csv" }));
        assert.equal(csv.split("\r\n").length, 6);
        const line = `${JSON.stringify({ [name]: "line" })}\n`;
        await answers(200, client.post(at, line, { "content-type": "application/x-ndjson" }));
        await answers(201, client.post(open, { [name]: { [name]: [name] } }));
        await answers(200, client.get(`${open}?${field(name)}.${field(name)}[exists]=true`));
        for (const bad of [{ [name]: 1 }, { access: { [name]: "public" } }])
          if (!name.startsWith("$")) await answers(400, client.put("/-/collections/bad", bad));
        await answers(400, client.put("/-/collections/bad", { schema: { format: name } }));
        await answers(
          400,
          client.put("/-/collections/bad", { schema: { properties: { a: { type: name } } } }),
        ).catch((error) => (name === "null" ? undefined : Promise.reject(error)));
        await answers(201, client.put(`/-/collections${open}-pot`, { honeypot: name }));
        await answers(200, client.get("/-/openapi.json"));
      });
    }
  });
}
